"""Options that no layout can meet, as a table: what shows the option, its name, and what to do instead.

Options that do not change what a job needs (name, nice, output, mail, begin, dependency …) are no rows.
For Slurm each CPU of a pod is a socket with one core of one thread: what asks for that is no row.
Records of 22.05 do not show --switches, --network and --ntasks-per-gpu: such jobs are laid out without them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from k8s_bridge.slurm.layout.features import pin, plain_features, reserved, user_expression
from k8s_bridge.slurm.layout.tres import requested_cpus, requested_nodes
from k8s_bridge.slurm.layout.types import Refusal
from k8s_bridge.slurm.model import LONGEST, Job


class Unmet(Exception):
    """Ends planning with a refusal; never leaves this package."""

    def __init__(self, option: str, text: str) -> None:
        super().__init__(text)
        self.refusal = Refusal(option=option, text=text)


@dataclass(frozen=True, slots=True)
class Row:
    """One option: `shows` tells from the record that it was given."""

    option: str
    shows: Callable[[Job], object]
    text: str


def _overcommitted(job: Job) -> bool:
    """Fewer CPUs than tasks, where not slurmctld made a task of each node."""
    cpus = requested_cpus(job.tres_request) or job.cpus
    if job.tasks is None or cpus is None:
        return False
    return cpus < job.tasks > (requested_nodes(job.tres_request) or job.node_count or 1)


def _special_features(job: Job) -> bool:
    return plain_features(user_expression(job.features, job_id=job.unit_id)) is None


def _reserved_features(job: Job) -> bool:
    return reserved(user_expression(job.features, job_id=job.unit_id))


def _long_features(job: Job) -> bool:
    user = user_expression(job.features, job_id=job.unit_id)
    return len(pin(user, job_id=job.unit_id, slots=(_WIDE, _WIDE)).encode()) > LONGEST


def _several(number: int | None) -> bool:
    return number is not None and number > 1


_WIDE = 999
"""A number of a slot as wide as they come."""
_HIDDEN = "The nodes are made for this job, and their sockets, cores and threads are not known before; "

ROWS = (
    Row("--gpus-per-socket", lambda j: j.tres_per_socket, f"{_HIDDEN}use --gpus-per-node."),
    Row("--ntasks-per-socket", lambda j: j.tasks_per_socket, f"{_HIDDEN}use --ntasks-per-node."),
    Row("--ntasks-per-board", lambda j: j.tasks_per_board, f"{_HIDDEN}use --ntasks-per-node."),
    Row("--ntasks-per-gpu", lambda j: j.tasks_per_tres, "Use --gpus-per-task, or --ntasks with --gpus."),
    Row("--sockets-per-node", lambda j: _several(j.sockets_per_node), f"{_HIDDEN}use --mincpus."),
    Row("--cores-per-socket", lambda j: _several(j.cores_per_socket), f"{_HIDDEN}use --mincpus."),
    Row("--threads-per-core", lambda j: _several(j.threads_per_core), f"{_HIDDEN}drop it."),
    Row("--core-spec", lambda j: j.core_spec is not None, "A pod has no spare cores; drop it."),
    Row("--thread-spec", lambda j: j.thread_spec is not None, "A pod has no spare threads; drop it."),
    Row("--overcommit", _overcommitted, "Each task gets a CPU of its own; drop it, or ask for fewer tasks."),
    Row("--nodelist", lambda j: j.required_nodes, "Nodes are made for the job; use --constraint."),
    Row("--exclude", lambda j: j.excluded_nodes, "Nodes are made for the job; use --constraint."),
    Row("--prefer", lambda j: j.prefer, "A wish cannot be queued for; use --constraint or drop it."),
    Row(
        "--constraint",
        _special_features,
        "Only features joined with & can be asked for; leave out |, counts, brackets and parentheses.",
    ),
    Row(
        "--constraint",
        _reserved_features,
        "Features that begin with nodes-for- or by- are those of the bridge's own nodes; drop it.",
    ),
    Row(
        "--constraint",
        _long_features,
        "It is too long to be joined with the feature of the job's own nodes; name fewer features.",
    ),
    Row("--switches", lambda j: j.required_switches, "The topology is not Slurm's to see here; drop it."),
    Row("--contiguous", lambda j: j.contiguous, "Nodes made for the job have no neighbours; drop it."),
    Row("--spread-job", lambda j: "SPREAD_JOB" in j.flags, "Say how many nodes you want with --nodes."),
    Row("--tmp", lambda j: j.min_tmp_disk, "Temporary disk cannot be asked for; drop it."),
    Row("--network", lambda j: j.network, "Network resources cannot be asked for; drop it."),
    Row("--bb", lambda j: j.burst_buffer, "Burst buffers cannot be asked for; drop it."),
    Row("--container", lambda j: j.container, "Nodes are pods already; start the container in the script."),
    Row("--reboot", lambda j: j.reboot, "A pod cannot be rebooted; drop it."),
    Row(
        "--gres-flags=enforce-binding",
        lambda j: j.flags & {"GRES_BINDING_ENFORCED", "GRES_ENFORCE_BIND"},
        "Which CPUs are near a GPU is not known before the pod runs; drop it.",
    ),
    Row("--exclusive=topo", lambda j: j.exclusive == "topo", "Use --exclusive for whole nodes."),
)


def refuse(job: Job, *, met: frozenset[str] = frozenset()) -> Refusal | None:
    """The first option of `job` that cannot be met, or None. Options in `met` are seen to elsewhere."""
    for row in ROWS:
        if row.option not in met and row.shows(job):
            return Refusal(option=row.option, text=row.text)
    return None
