"""Files that tell a running bridge to look at Slurm now: when a job was submitted, and when one has ended.

Not from job_submit.lua: the job does not exist yet when it runs, and slurmctld would wait for the fork.
"""

from __future__ import annotations

import shlex

from k8s_bridge.slurm.plugin.lua import quote
from k8s_bridge.slurm.plugin.script import MARK

SECONDS = 2
"""A bridge that does not answer is given up after this long."""


def at_end(address: str) -> str:
    """An EpilogSlurmctld that POSTs /nudge to `address`, such as http://bridge:8080.

    slurmctld keeps a job completing until the script ends, so it only starts curl.
    """
    return f"""\
#!/bin/sh
# {MARK}: an EpilogSlurmctld that never waits and never fails. The bridge polls anyway.
PATH=/usr/local/bin:/usr/bin:/bin
{_command(address)}
exit 0
"""


def at_submission(address: str) -> str:
    """A cli_filter.lua that does the same in the user's sbatch or salloc, once slurmctld has the job."""
    return f"""\
-- cli_filter.lua, {MARK}: for the machines where people submit, which must reach the bridge and
-- have curl. It never waits and never fails; the bridge polls anyway.
local COMMAND = {quote(_command(address))}
local NO_STEP = 4294967294

function slurm_cli_setup_defaults(options, early_pass)
  return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, component)
  return slurm.SUCCESS
end

function slurm_cli_post_submit(component, job_id, step_id)
  if step_id == nil or step_id >= NO_STEP then
    os.execute(COMMAND)
  end
  return slurm.SUCCESS
end
"""


def _command(address: str) -> str:
    """In a session of its own, so that whatever ends the caller's process group does not end it."""
    url = shlex.quote(f"{address.rstrip('/')}/nudge")
    return f"setsid curl --silent --max-time {SECONDS} --request POST {url} </dev/null >/dev/null 2>&1 &"
