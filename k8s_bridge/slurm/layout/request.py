"""What one job asks for, read out of its record; the place that knows how slurmctld fills records in.

Told apart on real daemons (22.05 and 24.11, jobs held at submission):

- `node_count` is an estimate made from the nodes that exist; the minimum of -N is `node=` of tres_req_str.
- `max_nodes` is what -N says, 0 or absent for a bare job; but 24.11 shows a bare job without -c,
  --ntasks-per-node and --ntasks-per-core with the estimate as its maximum too. There -n8 and -N1 -n8 look the
  same, and a maximum that equals `node_count` beside a minimum of 1 is taken as none. (22.05 has no
  cpus_per_task and is exact.)
- `cpu=` of tres_req_str is the exact total; `cpus` shrinks while a requeued job completes. 22.05 has no
  cpus_per_task: it is total / tasks there.
- An update of the CPUs that comes while no node could run the job shows in `cpus` only. In the record of a
  held job both are the same otherwise, whatever was asked for.
- --mem=0 and no --mem at all both give memory_per_node 0; a flag tells them apart.
- With --mem-per-gpu, memory_per_node repeats the amount of one GPU and means nothing.
"""

from __future__ import annotations

from enum import Enum, auto

import msgspec

from k8s_bridge.slurm.layout.refusals import Unmet
from k8s_bridge.slurm.layout.tres import Gres, parse_amount, parse_gres, requested_cpus, requested_nodes
from k8s_bridge.slurm.model import Job

MEMORY_ASKED = frozenset({"EXACT_MEMORY_REQUESTED", "JOB_MEM_SET"})
"""Flags of a job that said --mem=0, by release."""
TASKS_ASKED = "EXACT_TASK_COUNT_REQUESTED"
"""Flag of a job that said --ntasks, from 24.11 on."""


class Per(Enum):
    """What an amount of memory is meant for. NODE_ALL is --mem=0."""

    NOTHING = auto()
    NODE = auto()
    NODE_ALL = auto()
    CPU = auto()
    GPU = auto()


class Request(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The normalised request: counts that were asked for, not those that slurmctld made up. Memory in MiB."""

    nodes: int
    max_nodes: int | None
    """None when there is no maximum, or none that can be told from slurmctld's estimate."""
    tasks: int
    tasks_asked: bool
    """Whether the number of tasks was said; 22.05 does not tell, and False there."""
    tasks_per_node: int | None
    cpus: int
    """Of all tasks together, as sbatch has counted them."""
    cpus_per_task: int
    min_cpus: int
    """CPUs that each node must have at least; 1 where none were asked for."""
    cpu_step: int
    """CPUs of a task as the record has them; 0 for a record of 22.05, which does not."""
    cpus_per_gpu: int
    memory_per: Per
    memory: int
    gres_per_node: tuple[Gres, ...]
    gres_per_task: tuple[Gres, ...]
    gres_per_job: tuple[Gres, ...]

    @property
    def bare(self) -> bool:
        """No node count was asked for: tasks may be packed as it suits."""
        return self.nodes == 1

    @property
    def room(self) -> int:
        """Tasks that each node must have room for, however few it runs: Slurm takes no smaller node."""
        return self.tasks_per_node or 0


def read(job: Job) -> Request:
    """The request in `job`. Unmet for a TRES string that cannot be read."""
    nodes = requested_nodes(job.tres_request) or job.node_count or 1
    memory_per, memory = _memory(job)
    return Request(
        nodes=nodes,
        max_nodes=most_nodes(job, nodes),
        tasks=job.tasks or 1,
        tasks_asked=TASKS_ASKED in job.flags,
        tasks_per_node=job.tasks_per_node or None,
        cpus=_total_cpus(job),
        cpus_per_task=_cpus_per_task(job),
        min_cpus=job.min_cpus_per_node or 1,
        cpu_step=job.cpus_per_task or 0,
        cpus_per_gpu=_amount("--cpus-per-gpu", job.cpus_per_tres) if job.cpus_per_tres else 0,
        memory_per=memory_per,
        memory=memory,
        gres_per_node=_gres("--gres", job.tres_per_node),
        gres_per_task=_gres("--gpus-per-task", job.tres_per_task),
        gres_per_job=_gres("--gpus", job.tres_per_job),
    )


def _total_cpus(job: Job) -> int:
    counted = requested_cpus(job.tres_request)
    settled = job.held and job.pending
    return (job.cpus if settled else counted) or counted or job.cpus or 1


def _cpus_per_task(job: Job) -> int:
    """The record's own number overflows at 65,536, so the total has a say; with --cpus-per-gpu it has not."""
    given = job.cpus_per_task or 1
    if job.cpus_per_tres:
        return given
    total = _total_cpus(job)
    return max(given, -(-total // (job.tasks or 1)))


def _memory(job: Job) -> tuple[Per, int]:
    if job.memory_per_tres:
        return Per.GPU, _amount("--mem-per-gpu", job.memory_per_tres)
    if job.memory_per_cpu:
        return Per.CPU, job.memory_per_cpu
    if job.memory_per_node:
        return Per.NODE, job.memory_per_node
    return (Per.NODE_ALL if job.flags & MEMORY_ASKED else Per.NOTHING), 0


def most_nodes(job: Job, nodes: int) -> int | None:
    """The maximum of -N; None for none, or none that can be told from an estimate."""
    estimated = job.cpus_per_task == 1 and not (job.tasks_per_node or job.tasks_per_core)
    if not job.max_nodes or (estimated and nodes == 1 and job.max_nodes == job.node_count):
        return None
    return job.max_nodes


def _gres(option: str, text: str) -> tuple[Gres, ...]:
    gres = parse_gres(text)
    if gres is None:
        raise Unmet(option, f"{text!r} is not understood; ask for plain counts of GRES by name.")
    return gres


def _amount(option: str, text: str) -> int:
    amount = parse_amount(text)
    if amount is None:
        raise Unmet(option, f"{text!r} is not understood; ask for one plain number.")
    return amount
