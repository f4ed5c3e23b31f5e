"""The record that slurmctld would show for a held job, field by field as layout.request reads it.

Where slurmctld guesses from the nodes that exist (node_count, and a maximum that was not given) it is taken
to know of none, as in a cluster whose nodes are all made for jobs. Limits and defaults of a partition are
not known here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from k8s_bridge.slurm.layout.request import TASKS_ASKED
from k8s_bridge.slurm.model import PENDING, Job
from k8s_bridge.slurm.script.demand import Demand
from k8s_bridge.slurm.script.errors import ScriptError
from k8s_bridge.slurm.script.settings import Settings
from k8s_bridge.slurm.script.tres import Tres, agree

_EXACT_MEMORY = "EXACT_MEMORY_REQUESTED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who submits what: the facts of a record that no option gives."""

    job_id: int = 1
    user_name: str = ""
    user_id: int = 0
    name: str = "sbatch"
    """The script's file name, for want of --job-name."""
    partition: str = ""
    """The default partition."""


def received(demand: Demand, tres: Tres) -> Demand:
    """The demand as slurmctld completes it when it takes the job."""
    demand = _with_cpus(_with_tasks(demand))
    nodes = 1 if demand.min_nodes is None else demand.min_nodes
    demand = replace(
        demand,
        min_nodes=nodes,
        min_cpus=nodes if demand.min_cpus is None else demand.min_cpus,
        min_cpus_per_node=demand.min_cpus_per_node or 1,
    )
    demand = agree(demand, tres)
    if demand.max_nodes is not None and demand.max_nodes < (demand.min_nodes or 0):
        raise ScriptError("the most nodes are fewer than the least")
    return demand


def job_of(settings: Settings, *, demand: Demand, tres: Tres, identity: Identity) -> Job:
    """The record of one component, whose demand was `received`."""
    cpus_per_task = demand.cpus_per_task or 1
    nodes, most = _estimated(demand, cpus_per_task=cpus_per_task)
    memory_per_node, memory_per_cpu = _memory(settings)
    return Job(
        job_id=identity.job_id,
        name=settings.text("job_name") or identity.name,
        user_name=identity.user_name,
        user_id=identity.user_id,
        account=settings.text("account"),
        qos=settings.text("qos"),
        wckey=settings.text("wckey"),
        partition=settings.text("partition") or identity.partition,
        states=frozenset({PENDING}),
        held=True,
        reason="JobHeldUser",
        priority=0,
        requeue=not settings.has("no_requeue"),
        dependency=settings.text("dependency"),
        comment=settings.text("comment"),
        features=settings.text("constraint"),
        prefer=settings.text("prefer"),
        required_nodes=settings.text("nodelist") or settings.text("nodefile"),
        excluded_nodes=settings.text("exclude"),
        array_job_id=identity.job_id if settings.text("array") else None,
        array_task_string=settings.text("array"),
        tasks=demand.tasks or demand.min_nodes,
        cpus=demand.min_cpus,
        node_count=nodes,
        max_nodes=most or None,
        cpus_per_task=cpus_per_task,
        tasks_per_node=demand.tasks_per_node,
        tasks_per_socket=demand.tasks_per_socket,
        tasks_per_core=demand.tasks_per_core,
        tasks_per_tres=demand.tasks_per_gpu,
        min_cpus_per_node=_cpus_on_node(demand, cpus_per_task=cpus_per_task),
        sockets_per_node=demand.sockets_per_node,
        cores_per_socket=settings.number("cores_per_socket"),
        threads_per_core=settings.number("threads_per_core"),
        tres_per_job=tres.per_job,
        tres_per_node=tres.per_node,
        tres_per_socket=tres.per_socket,
        tres_per_task=tres.per_task,
        cpus_per_tres=tres.cpus,
        memory_per_tres=tres.memory,
        tres_request=_request(demand),
        exclusive="none" if settings.has("reboot") else settings.text("shared"),
        time_limit=settings.number("time_limit"),
        time_minimum=settings.number("time_min"),
        licenses=settings.text("licenses"),
        reservation=settings.text("reservation"),
        network=settings.text("network"),
        burst_buffer=settings.text("burst_buffer") or settings.text("burst_buffer_file"),
        container=settings.text("container"),
        contiguous=settings.has("contiguous"),
        reboot=settings.has("reboot"),
        required_switches=settings.number("req_switch") or 0,
        min_tmp_disk=settings.number("tmp") or 0,
        flags=_flags(settings, demand),
        memory_per_node=memory_per_node,
        memory_per_cpu=memory_per_cpu,
    )


def _with_tasks(demand: Demand) -> Demand:
    if demand.tasks is not None:
        return demand
    nodes = 1 if demand.min_nodes is None else demand.min_nodes
    per = demand.tasks_per_gpu if demand.tasks_per_gpu is not None else demand.tasks_per_node
    return replace(demand, min_nodes=nodes, tasks=None if per is None else nodes * per)


def _with_cpus(demand: Demand) -> Demand:
    """A CPU for each task at least, unless they are to share."""
    short = demand.min_cpus is None or (demand.tasks or 0) > demand.min_cpus
    if demand.overcommit or not short:
        return demand
    tasks = demand.tasks if demand.tasks is not None else demand.min_nodes or 1
    return replace(demand, min_cpus=tasks * (demand.cpus_per_task or 1))


def _cpus_on_node(demand: Demand, *, cpus_per_task: int) -> int:
    least = max(demand.min_cpus_per_node or 1, cpus_per_task)
    if demand.tasks_per_node and not demand.overcommit and (demand.tasks or 0) > 1:
        return max(least, cpus_per_task * demand.tasks_per_node)
    return least


def _estimated(demand: Demand, *, cpus_per_task: int) -> tuple[int, int]:
    """(node_count, max_nodes) as slurmctld shows them while it knows of no node."""
    least, most, tasks = demand.min_nodes or 0, demand.max_nodes or 0, demand.tasks or 0
    if demand.tasks_per_node:
        return max(least, tasks // demand.tasks_per_node), most
    if cpus_per_task > 1:
        return max(least, tasks), most
    nodes = max(least, tasks == 1)
    return nodes, most if demand.tasks_per_core else max(nodes, most)


def _request(demand: Demand) -> str:
    counts = (("cpu", demand.min_cpus), ("node", demand.min_nodes))
    return ",".join(f"{name}={count}" for name, count in counts if count)


def _memory(settings: Settings) -> tuple[int | None, int | None]:
    """(of each node, of each CPU) in MiB. 0 for a CPU means all of the node, as 0 for a node does."""
    node, cpu = settings.number("mem"), settings.number("mem_per_cpu")
    return (None, cpu) if node is None and cpu else (node or 0, None)


def _flags(settings: Settings, demand: Demand) -> frozenset[str]:
    tasks = set() if demand.tasks is None else {TASKS_ASKED}
    memory = {_EXACT_MEMORY} if settings.has("mem") or settings.has("mem_per_cpu") else set()
    spread = {"SPREAD_JOB"} if settings.has("spread_job") else set()
    return frozenset(tasks | memory | spread | settings.words("gres_flags"))
