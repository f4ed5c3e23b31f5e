-- What follows is the same for every cluster; MANAGED, REFUSED, FEATURE and PREFIX above are this one's.
-- Runs on Lua 5.1 to 5.4, inside slurmctld and under its locks: it computes, and never waits for anything.

local MARKS = { [0] = true, [65534] = true, [65535] = true, [4294967294] = true, [4294967295] = true }

-- A number that was given: 0 and the two highest of 16 and 32 bits are Slurm's "not set" and "no limit".
local function given(value)
  return type(value) == "number" and not MARKS[value]
end

local function filled(value)
  return type(value) == "string" and value ~= ""
end

local function flagged(job, name)
  local bit, flags = slurm[name], job.bitflags
  return type(bit) == "number" and type(flags) == "number" and math.floor(flags / bit) % 2 == 1
end

-- Features joined with & and nothing else: what nodes that are made for a job can advertise.
local function plain(expression)
  local only = string.find(expression, "^[A-Za-z0-9_.:/+&-]+$")
  return only and not string.find("&" .. expression .. "&", "&&", 1, true)
end

local function reserved(expression)
  if not filled(expression) then
    return false
  end
  for word in string.gmatch(expression, "[A-Za-z0-9_.:/+-]+") do
    if string.sub(word, 1, #FEATURE) == FEATURE then
      return true
    end
  end
  return false
end

local function text_in(field)
  return function(job)
    return filled(job[field])
  end
end

local function number_in(field)
  return function(job)
    return given(job[field])
  end
end

-- What shows in a submission that an option was given. The record of the job shows some of them no more.
local SHOWS = {
  ["--gpus-per-socket"] = text_in("tres_per_socket"),
  ["--ntasks-per-socket"] = number_in("ntasks_per_socket"),
  ["--ntasks-per-core"] = number_in("ntasks_per_core"),
  ["--ntasks-per-board"] = number_in("ntasks_per_board"),
  ["--ntasks-per-gpu"] = number_in("ntasks_per_tres"),
  ["--sockets-per-node"] = number_in("sockets_per_node"),
  ["--cores-per-socket"] = number_in("cores_per_socket"),
  ["--threads-per-core"] = number_in("threads_per_core"),
  -- One field holds both; its highest bit says threads. Clients clear it where the cluster has no such cores.
  ["--core-spec"] = function(job)
    return given(job.core_spec) and job.core_spec < 32768
  end,
  ["--thread-spec"] = number_in("thread_spec"),
  -- No field says it, but sbatch then counts a CPU for each node in place of each task.
  ["--overcommit"] = function(job)
    local nodes = given(job.min_nodes) and job.min_nodes or 1
    return given(job.num_tasks) and given(job.min_cpus) and not filled(job.cpus_per_tres)
      and job.min_cpus < job.num_tasks and job.num_tasks > nodes
  end,
  ["--nodelist"] = text_in("req_nodes"),
  ["--exclude"] = text_in("exc_nodes"),
  ["--prefer"] = text_in("prefer"),
  ["--constraint"] = function(job)
    return filled(job.features) and not plain(job.features)
  end,
  ["--switches"] = number_in("req_switch"),
  ["--contiguous"] = number_in("contiguous"),
  ["--spread-job"] = function(job)
    return flagged(job, "SPREAD_JOB")
  end,
  ["--tmp"] = number_in("pn_min_tmp_disk"),
  ["--network"] = text_in("network"),
  ["--bb"] = text_in("burst_buffer"),
  ["--container"] = text_in("container"),
  ["--reboot"] = number_in("reboot"),
  ["--gres-flags=enforce-binding"] = function(job)
    return flagged(job, "GRES_ENFORCE_BIND")
  end,
  ["--exclusive=topo"] = function(job)
    return job.shared == 4
  end,
}

local function default_partition(partitions)
  for name, partition in pairs(partitions) do
    if partition.flag_default == 1 then
      return name
    end
  end
  return ""
end

-- The first managed partition of a list such as "a,b" (of the default, when none is named), or nil.
local function managed_in(list, partitions)
  for name in string.gmatch(filled(list) and list or default_partition(partitions), "[^,]+") do
    if MANAGED[name] then
      return name
    end
  end
  return nil
end

-- Why the job cannot be met in a managed partition, or nil.
local function unmet(job, partition)
  for _, row in ipairs(REFUSED) do
    local option, text = row[1], row[2]
    local shows = SHOWS[option]
    if shows and not MANAGED[partition][option] and shows(job) then
      return PREFIX .. option .. " in partition " .. partition .. ": " .. text
    end
  end
  if filled(job.admin_comment) and string.sub(job.admin_comment, 1, #PREFIX) == PREFIX then
    return PREFIX .. "an admin comment that begins like this is the bridge's own; use --comment."
  end
  return nil
end

-- The priority that a comment asks for: wm:prio=N as a word of its own. Tells the user what becomes of it;
-- the bridge applies and acknowledges it. Returns why it can be nothing at all, or nil.
local function priority_asked(job, partition)
  local text = filled(job.comment) and string.match(" " .. job.comment, "[%s,;]wm:prio=([^%s,;]*)")
  if not text then
    return nil
  end
  local cap, wish = PRIORITY[partition], string.match(text, "^%d+$") and tonumber(text)
  if not wish or wish < 1 or wish > 2147483647 then
    return PREFIX .. "wm:prio=" .. text .. ": a whole number from 1 to 2147483647 is asked for."
  end
  if not cap then
    slurm.log_user("%s", PREFIX .. "wm:prio=" .. text .. " has no effect in partition " .. partition .. ".")
  elseif cap > 0 and wish > cap then
    slurm.log_user("%s", PREFIX .. "wm:prio=" .. text .. " is more than the " .. cap .. " that apply.")
  end
  return nil
end

local RESERVED = PREFIX .. "features " .. FEATURE .. "* are given by the bridge, to the nodes of one job; "
  .. "leave it out of --constraint and --prefer."

-- Holds the job first: whatever fails later, it waits for Kueue. Returns what the user is told, or nil.
local function submitted(job, partitions)
  local partition = managed_in(job.partition, partitions)
  if partition then
    job.priority = 0
  end
  if reserved(job.features) or reserved(job.prefer) then
    return RESERVED
  end
  return partition and (unmet(job, partition) or priority_asked(job, partition))
end

local function marked(record)
  local text = record.admin_comment
  return filled(text) and string.sub(text, 1, #PREFIX) == PREFIX
end

local function held_for_kueue(record)
  return record.priority == 0 and not marked(record)
end

-- 22.05 takes a changed nice off any priority, that of a held job too, which is not 0 then, and free to start.
local NICE_RELEASES = slurm.ESLURM_NOT_SUPPORTED == nil

-- The owner changes the job; operators, and with them the bridge itself, never come here.
local function modified(job, record, partitions)
  if reserved(job.features) or reserved(job.prefer) then
    return RESERVED
  end
  local before = managed_in(record.partition, partitions)
  local after = before
  if filled(job.partition) then
    after = managed_in(job.partition, partitions)
  end
  local priority = job.priority
  local releases = type(priority) == "number" and priority ~= 0 and priority ~= 4294967294
  if after and releases and held_for_kueue(record) then
    return PREFIX .. "this job is released when Kueue admits it; `k8s-bridge explain` says what it waits for."
  end
  if after and priority == 0 and record.priority == 0 and marked(record) then
    return PREFIX .. "this job is held for Kueue already, and a second hold could not be seen; "
      .. "`scontrol update StartTime=` or Dependency= keep it waiting."
  end
  if after and NICE_RELEASES and given(job.nice) and record.priority == 0 then
    return PREFIX .. "a new nice would release this job past Kueue; give --nice to sbatch."
  end
  if after and reserved(record.features) and filled(job.features) and job.features ~= record.features then
    return PREFIX .. "this job has its nodes already; its features can be changed before or after that."
  end
  if after and not before then
    job.priority = 0
  end
  return after and priority_asked(job, after)
end

-- An error of this script blocks nobody: it is logged, and the job stays as it is (held, if it is managed).
local function answer(refusal, rule, ...)
  local fine, complaint = pcall(rule, ...)
  if not fine then
    slurm.log_error("%s", PREFIX .. "job_submit.lua: " .. tostring(complaint))
    return slurm.SUCCESS
  end
  if complaint then
    slurm.log_user("%s", complaint)
    return refusal
  end
  return slurm.SUCCESS
end

function slurm_job_submit(job, partitions, submit_uid)
  -- REST clients are shown the code alone; 22.05 has no better one than "Unspecified error".
  return answer(slurm.ESLURM_NOT_SUPPORTED or slurm.ERROR, submitted, job, partitions)
end

function slurm_job_modify(job, record, partitions, modify_uid)
  if modify_uid == 0 or modify_uid ~= record.user_id then
    return slurm.SUCCESS
  end
  return answer(slurm.ESLURM_ACCESS_DENIED or slurm.ERROR, modified, job, record, partitions)
end
