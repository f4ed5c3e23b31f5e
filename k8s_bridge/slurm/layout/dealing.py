"""Which node gets how many tasks, and how much of a GRES that is asked for the whole job (--gpus).

As slurmctld deals (select/cons_tres): evenly, the first nodes take what is left over. When tasks and GRES are
multiples of each other it keeps them together: the node with one GPU more has that GPU's tasks too.
"""

from __future__ import annotations

from k8s_bridge.slurm.layout.blame import for_room
from k8s_bridge.slurm.layout.refusals import Unmet
from k8s_bridge.slurm.layout.request import Request


def share(total: int, *, nodes: int, index: int) -> int:
    """What node `index` gets of `total`, dealt out evenly."""
    base, extra = divmod(total, nodes)
    return base + (index < extra)


def tasks_per_gres(request: Request, *, nodes: int) -> int:
    """Tasks that stay with each one of the job-wide GRES; 0 when they are dealt out by themselves.

    With --ntasks-per-node 24.11, which tells the CPUs of a task, counts the tasks that there is room for on
    as many nodes as are asked for at least.
    """
    if len(request.gres_per_job) != 1:
        return 0
    count = request.gres_per_job[0][2]
    least = min(nodes, request.nodes)
    tasks = max(request.tasks, least * request.room) if request.cpu_step else request.tasks
    return tasks // count if tasks % count == 0 else 0


def node_tasks(request: Request, *, nodes: int, index: int) -> int:
    """Tasks of node `index`; a node beyond the last task runs none."""
    together = tasks_per_gres(request, nodes=nodes)
    if together:
        return share(request.gres_per_job[0][2], nodes=nodes, index=index) * together
    return share(request.tasks, nodes=nodes, index=index)


def node_job_gres(request: Request, *, count: int, nodes: int, index: int) -> int:
    """How many of `count` job-wide GRES node `index` gets."""
    per_task, rest = divmod(count, request.tasks)
    if rest == 0 and nodes <= request.tasks:
        return share(request.tasks, nodes=nodes, index=index) * per_task
    return share(count, nodes=nodes, index=index)


def check_dealing(request: Request, *, nodes: int) -> None:
    """Unmet when job-wide GRES cannot be dealt out: every node must get some, and its tasks with it."""
    for name, _, count in request.gres_per_job:
        if count < nodes:
            raise Unmet(
                "--gpus",
                f"{count} of {name} cannot be spread over the {nodes} nodes that the tasks fill; "
                "ask for one per task, or for fewer tasks.",
            )
        if nodes > request.tasks:
            raise Unmet(
                "--gpus", f"One task cannot have {name} of several nodes; ask for more, smaller tasks."
            )
    ranged = request.max_nodes is not None and request.max_nodes > nodes
    apart = request.gres_per_job or (ranged and request.gres_per_task)
    if apart and nodes > 1 and request.tasks <= request.room * (nodes - 1):
        raise Unmet(
            for_room(request),
            f"Slurm would put the tasks on fewer than {nodes} nodes, and does not start them there; "
            "ask for fewer tasks on a node.",
        )
    most = node_tasks(request, nodes=nodes, index=0)
    if request.tasks_per_node and most > request.tasks_per_node:
        raise Unmet(
            "--gpus",
            f"{most} tasks would stay with the GPUs of one node, more than --ntasks-per-node allows; "
            "use --gpus-per-node or --gpus-per-task.",
        )
    fewest = node_tasks(request, nodes=nodes, index=nodes - 1)
    if request.cpu_step and tasks_per_gres(request, nodes=nodes) and fewest < request.room:
        raise Unmet(
            for_room(request),
            f"{fewest} tasks stay with the GPUs of a node, and Slurm takes no node that has no room for "
            f"{request.room}; say how many nodes with --nodes, or leave this option out.",
        )
