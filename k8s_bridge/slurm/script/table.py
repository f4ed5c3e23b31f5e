"""All options of sbatch, as a table: spelling, fields, reader, effect.

Names are those of 24.11; an option that is not here is one of a plugin of the site or of a newer release.
"""

from __future__ import annotations

from collections.abc import Iterator

from k8s_bridge.slurm.script import counts, values, wording
from k8s_bridge.slurm.script.option import NO_EFFECT, Carried, Option, Spelled, Takes

_NOT, _FLAG, _MAY = Carried.NOT, Takes.NOTHING, Takes.OPTIONAL
_V = Takes.VALUE

_SHAPING = (
    Option("ntasks", "n", _V, ("ntasks",), values.positive, "{0} tasks", _NOT),
    Option("nodes", "N", _V, ("nodes_set", "min_nodes", "max_nodes"), counts.nodes, wording.nodes, _NOT),
    Option("cpus-per-task", "c", _V, ("cpus_per_task",), values.positive, "{0} CPUs for each task", _NOT),
    Option(
        "ntasks-per-node",
        "",
        _V,
        ("ntasks_per_node",),
        values.positive,
        "at most {0} tasks on a node",
        _NOT,
    ),
    Option(
        "tasks-per-node",
        "",
        _V,
        ("ntasks_per_node",),
        values.positive,
        "at most {0} tasks on a node",
        _NOT,
        alias="ntasks-per-node",
    ),
    Option("mincpus", "", _V, ("mincpus",), values.positive, "at least {0} CPUs on each node", _NOT),
    Option("mem", "", _V, ("mem",), values.memory, wording.memory_of_node),
    Option("mem-per-cpu", "", _V, ("mem_per_cpu",), values.memory, wording.memory_of_cpu, _NOT),
    Option("mem-per-gpu", "", _V, ("mem_per_gpu",), values.memory, "{0} MiB for each GPU", _NOT),
    Option("gpus", "G", _V, ("gpus",), values.words, "{0} GPUs for the whole job", _NOT),
    Option("gpus-per-node", "", _V, ("gpus_per_node",), values.words, "{0} GPUs for each node", _NOT),
    Option("gpus-per-task", "", _V, ("gpus_per_task",), values.words, "{0} GPUs for each task", _NOT),
    Option("gpus-per-socket", "", _V, ("gpus_per_socket",), values.words, "{0} GPUs a socket", _NOT),
    Option("cpus-per-gpu", "", _V, ("cpus_per_gpu",), values.positive, "{0} CPUs for each GPU", _NOT),
    Option("gres", "", _V, ("gres",), values.gres, wording.gres, _NOT),
    Option("tres-per-task", "", _V, ("tres_per_task",), values.words, "{0} for each task", _NOT),
    Option("ntasks-per-gpu", "", _V, ("ntasks_per_gpu",), values.positive, "{0} tasks a GPU", _NOT),
    Option("ntasks-per-tres", "", _V, ("ntasks_per_tres",), values.positive, "{0} tasks a GPU", _NOT),
    Option("ntasks-per-socket", "", _V, ("ntasks_per_socket",), values.positive, "{0} tasks a socket", _NOT),
    Option(
        "ntasks-per-core",
        "",
        _V,
        ("ntasks_per_core",),
        values.positive,
        "{0} tasks a core: each CPU of a pod is one",
        _NOT,
    ),
    Option("sockets-per-node", "", _V, ("sockets_per_node",), values.positive, "{0} sockets a node", _NOT),
    Option(
        "cores-per-socket",
        "",
        _V,
        ("cores_per_socket",),
        values.positive,
        "{0} cores a socket: each CPU of a pod is one",
        _NOT,
    ),
    Option(
        "threads-per-core",
        "",
        _V,
        ("threads_per_core",),
        values.positive,
        "{0} threads a core: each CPU of a pod is one",
        _NOT,
    ),
    Option(
        "extra-node-info",
        "B",
        _V,
        ("extra_set", "sockets_per_node", "cores_per_socket", "threads_per_core"),
        counts.sockets,
        wording.geometry,
        _NOT,
    ),
    Option("hint", "", _V, ("hint",), values.words, "{0}: each CPU of a pod is a core with one thread", _NOT),
    Option("exclusive", "", _MAY, ("shared",), values.sharing, wording.sharing, _NOT),
    Option(
        "oversubscribe", "s", _FLAG, ("shared",), values.oversubscribed, "nothing: no node is shared", _NOT
    ),
    Option("overcommit", "O", _FLAG, ("overcommit",), values.flag, "tasks share CPUs", _NOT),
    Option("time", "t", _V, ("time_limit",), values.minutes, wording.limit),
    Option("time-min", "", _V, ("time_min",), values.minutes, wording.shortest),
)
_PLACING = (
    Option("array", "a", _V, ("array",), counts.array, "array {0}"),
    Option("constraint", "C", _V, ("constraint",), values.words, "nodes with the features {0}", _NOT),
    Option("prefer", "", _V, ("prefer",), values.words, "a wish for the features {0}"),
    Option("nodelist", "w", _V, ("nodelist",), values.words, "the nodes {0}", _NOT),
    Option("nodefile", "F", _V, ("nodefile",), values.words, "the nodes in {0}", _NOT, alias="nodelist"),
    Option("exclude", "x", _V, ("exclude",), values.words, "not the nodes {0}"),
    Option("switches", "", _V, ("req_switch",), values.switches, "within {0} switches", _NOT),
    Option("contiguous", "", _FLAG, ("contiguous",), values.flag, "nodes side by side", _NOT),
    Option("spread-job", "", _FLAG, ("spread_job",), values.flag, "spread over many nodes", _NOT),
    Option("use-min-nodes", "", _FLAG, ("use_min_nodes",), values.flag, NO_EFFECT, _NOT),
    Option("tmp", "", _V, ("tmp",), values.memory, "{0} MiB of temporary disk", _NOT),
    Option("licenses", "L", _V, ("licenses",), values.words, "licenses {0}", _NOT),
    Option("reservation", "", _V, ("reservation",), values.words, "in the reservation {0}"),
    Option("network", "", _V, ("network",), values.words, "network {0}", _NOT),
    Option("bb", "", _V, ("burst_buffer",), values.words, "burst buffer {0}", _NOT),
    Option("bbf", "", _V, ("burst_buffer_file",), values.words, "burst buffer of the file {0}"),
    Option("container", "", _V, ("container",), values.words, "container {0}"),
    Option("reboot", "", _FLAG, ("reboot",), values.flag, "nodes are rebooted first"),
    Option("gres-flags", "", _V, ("gres_flags",), values.gres_flags, "GRES flags", _NOT),
    Option("core-spec", "S", _V, ("core_spec",), values.natural, NO_EFFECT, _NOT),
    Option("thread-spec", "", _V, ("core_spec",), values.positive, NO_EFFECT, _NOT),
    Option("distribution", "m", _V, ("distribution",), values.words, NO_EFFECT, _NOT),
    Option(
        "req-switch",
        "",
        _V,
        ("req_switch",),
        values.positive,
        "within {0} switches",
        _NOT,
        Spelled.ENVIRONMENT,
    ),
)
_NAMING = (
    Option("account", "A", _V, ("account",), values.lower, "account {0}: label, queue rules"),
    Option("qos", "q", _V, ("qos",), values.words, "QOS {0}: label, queue rules"),
    Option("wckey", "", _V, ("wckey",), values.lower, "WCKey {0}: queue rules"),
    Option("partition", "p", _V, ("partition",), values.words, "partition {0}: chooses the mapping"),
    Option("job-name", "J", _V, ("job_name",), values.words, "name {0}"),
    Option("comment", "", _V, ("comment",), values.words, "comment {0}"),
    Option("hold", "H", _FLAG, ("hold",), values.flag, "held, as every job that waits for Kueue"),
    Option("requeue", "", _FLAG, ("requeue",), values.flag, "goes back to the queue when it loses its pods"),
    Option(
        "no-requeue",
        "",
        _FLAG,
        ("no_requeue",),
        values.flag,
        "is not queued again when it loses its pods; see noRequeuePolicy",
    ),
    Option("dependency", "d", _V, ("dependency",), values.words, "waits for {0}, then for Kueue"),
    Option("begin", "b", _V, ("begin",), values.words, "waits until {0}, then for Kueue"),
    Option("deadline", "", _V, ("deadline",), values.words, NO_EFFECT),
    Option("no-kill", "k", _MAY, (), values.killing),
    Option(
        "ignore-pbs", "", _FLAG, ("ignore_pbs",), values.flag, "lines for other batch systems are comments"
    ),
)


def _plain(names: str, *, takes: Takes, carried: Carried = Carried.OVER) -> Iterator[Option]:
    """Options that Slurm alone sees to: `name` or `name/short`."""
    for name, _, short in (item.partition("/") for item in names.split()):
        yield Option(name, short, takes, carried=carried)


_PLAIN = (
    *_plain(
        "acctg-freq autocomplete batch chdir/D cluster cluster-constraint clusters/M container-id context "
        "delay-boot error/e export export-file extra gid input/i kill-on-invalid-dep mcs-label open-mode "
        "output/o priority profile signal uid wait-all-nodes",
        takes=_V,
    ),
    *_plain(
        "cpu-freq gpu-bind tres-bind gpu-freq mail-type mail-user mem-bind segment", takes=_V, carried=_NOT
    ),
    *_plain("get-user-env nice oom-kill-step propagate resv-ports", takes=_MAY),
    *_plain("parsable stepmgr test-only wait/W", takes=_FLAG),
    *(
        Option(name, short, takes, spelled=Spelled.COMMAND_LINE)
        for name, short, takes in (
            ("help", "h", _FLAG),
            ("quiet", "Q", _FLAG),
            ("usage", "", _FLAG),
            ("verbose", "v", _FLAG),
            ("version", "V", _FLAG),
            ("wrap", "", _V),
        )
    ),
    Option("switch-wait", takes=_V, carried=_NOT, spelled=Spelled.ENVIRONMENT),
)

OPTIONS: tuple[Option, ...] = (*_SHAPING, *_PLACING, *_NAMING, *_PLAIN)
BY_NAME = {option.name: option for option in OPTIONS}
LONG = {option.name: option for option in OPTIONS if option.spelled is not Spelled.ENVIRONMENT}
SHORT = {option.short: option for option in OPTIONS if option.short}
