"""The options that a job's record shows, for a job whose script nobody has: each as sbatch would be given it.

Numbers that slurmctld fills in by itself are left out where they can be told; --gres stands for
--gpus-per-node as well, and --tres-per-task for --gpus-per-task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from k8s_bridge.slurm.layout.features import user_expression
from k8s_bridge.slurm.layout.request import MEMORY_ASKED, most_nodes
from k8s_bridge.slurm.layout.tres import parse_amount, requested_nodes
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.script.getopt import Typed
from k8s_bridge.slurm.script.settings import Given
from k8s_bridge.slurm.script.table import BY_NAME

WHERE = "the record"
_FLAG = ""
_GRES_FLAGS = {
    "GRES_BINDING_ENFORCED": "enforce-binding",
    "GRES_ENFORCE_BIND": "enforce-binding",
    "GRES_BINDING_DISABLED": "disable-binding",
    "GRES_DISABLE_BIND": "disable-binding",
}


def given_of(job: Job) -> tuple[tuple[Given, bool], ...]:
    """The options, all in force, in the order of the table below."""
    return tuple((given, True) for name, text in _SHOWN for given in _given(name, text(job)))


def _given(name: str, text: str | None) -> Iterator[Given]:
    """One, or none: also for a value that only a newer Slurm can read."""
    if text is None:
        return
    option, value = BY_NAME[name], text or None
    try:
        values = option.read(value)
    except ValueError:
        return
    yield Given(Typed(option=option, name=name, value=value, where=WHERE), values)


def _more(number: int | None, than: int = 0) -> str | None:
    return str(number) if number is not None and number > than else None


def _text(text: str) -> str | None:
    return text or None


def _flag(shown: object) -> str | None:
    return _FLAG if shown else None


def _nodes(job: Job) -> str | None:
    least = requested_nodes(job.tres_request) or 1
    most = most_nodes(job, least)
    if most is None:
        return str(least) if least > 1 else None
    return str(least) if most == least else f"{least}-{most}"


def _mincpus(job: Job) -> str | None:
    by_tasks = (job.cpus_per_task or 1) * max(1, job.tasks_per_node or 0)
    return _more(job.min_cpus_per_node, by_tasks)


def _memory(job: Job) -> str | None:
    if job.memory_per_cpu or job.memory_per_tres:
        return None
    if job.memory_per_node:
        return f"{job.memory_per_node}M"
    return "0" if job.flags & MEMORY_ASKED else None


def _memory_per_cpu(job: Job) -> str | None:
    return f"{job.memory_per_cpu}M" if job.memory_per_cpu else None


def _memory_per_gpu(job: Job) -> str | None:
    amount = parse_amount(job.memory_per_tres)
    return f"{amount}M" if amount else None


def _gpus(job: Job) -> str | None:
    return _text(job.tres_per_job.replace("gres/gpu:", "").replace("gres:gpu:", ""))


def _exclusive(job: Job) -> str | None:
    if job.exclusive in {"", "oversubscribe"}:
        return None
    return _FLAG if job.exclusive == "none" else job.exclusive


def _gres_flags(job: Job) -> str | None:
    return _text(",".join(sorted({word for flag, word in _GRES_FLAGS.items() if flag in job.flags})))


_SHOWN: tuple[tuple[str, Callable[[Job], str | None]], ...] = (
    ("partition", lambda job: _text(job.partition)),
    ("account", lambda job: _text(job.account)),
    ("qos", lambda job: _text(job.qos)),
    ("wckey", lambda job: _text(job.wckey)),
    ("array", lambda job: _text(job.array_task_string)),
    ("nodes", _nodes),
    ("ntasks", lambda job: _more(job.tasks)),
    ("cpus-per-task", lambda job: _more(job.cpus_per_task, 1)),
    ("ntasks-per-node", lambda job: _more(job.tasks_per_node)),
    ("ntasks-per-socket", lambda job: _more(job.tasks_per_socket)),
    ("ntasks-per-core", lambda job: _more(job.tasks_per_core)),
    ("ntasks-per-gpu", lambda job: _more(job.tasks_per_tres)),
    ("mincpus", _mincpus),
    ("sockets-per-node", lambda job: _more(job.sockets_per_node)),
    ("cores-per-socket", lambda job: _more(job.cores_per_socket)),
    ("threads-per-core", lambda job: _more(job.threads_per_core)),
    ("core-spec", lambda job: _more(job.core_spec, -1)),
    ("thread-spec", lambda job: _more(job.thread_spec)),
    ("mem", _memory),
    ("mem-per-cpu", _memory_per_cpu),
    ("mem-per-gpu", _memory_per_gpu),
    ("gres", lambda job: _text(job.tres_per_node.replace("gres:", "gres/"))),
    ("gpus", _gpus),
    ("tres-per-task", lambda job: _text(job.tres_per_task)),
    ("gpus-per-socket", lambda job: _text(job.tres_per_socket)),
    ("cpus-per-gpu", lambda job: _more(parse_amount(job.cpus_per_tres))),
    ("gres-flags", _gres_flags),
    ("exclusive", _exclusive),
    ("oversubscribe", lambda job: _flag(job.exclusive == "oversubscribe")),
    ("constraint", lambda job: _text(user_expression(job.features, job_id=job.job_id))),
    ("prefer", lambda job: _text(job.prefer)),
    ("nodelist", lambda job: _text(job.required_nodes)),
    ("exclude", lambda job: _text(job.excluded_nodes)),
    ("switches", lambda job: _more(job.required_switches)),
    ("contiguous", lambda job: _flag(job.contiguous)),
    ("spread-job", lambda job: _flag("SPREAD_JOB" in job.flags)),
    ("tmp", lambda job: _more(job.min_tmp_disk)),
    ("licenses", lambda job: _text(job.licenses)),
    ("reservation", lambda job: _text(job.reservation)),
    ("network", lambda job: _text(job.network)),
    ("bb", lambda job: _text(job.burst_buffer)),
    ("container", lambda job: _text(job.container)),
    ("reboot", lambda job: _flag(job.reboot)),
    ("dependency", lambda job: _text(job.dependency)),
    ("time", lambda job: _more(job.time_limit)),
    ("time-min", lambda job: _more(job.time_minimum)),
    ("no-requeue", lambda job: _flag(not job.requeue)),
)
"""What shows each option, and its value; "" is an option without one, None one that was not given."""
