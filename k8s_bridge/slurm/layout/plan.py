"""The layout engine: one job record in, groups of equal pods or a refusal out. Pure."""

from __future__ import annotations

from k8s_bridge.slurm.layout.dealing import check_dealing, node_tasks
from k8s_bridge.slurm.layout.features import plain_features, user_expression
from k8s_bridge.slurm.layout.gres import check_agreement
from k8s_bridge.slurm.layout.never import check_startable
from k8s_bridge.slurm.layout.refusals import Unmet, refuse
from k8s_bridge.slurm.layout.request import Request, read
from k8s_bridge.slurm.layout.shapes import node_shape_of
from k8s_bridge.slurm.layout.spread import node_count, segments
from k8s_bridge.slurm.layout.types import Exclusive, Group, Layout, NodeShape, Refusal
from k8s_bridge.slurm.model import Job


def plan(
    job: Job, *, node_shape: NodeShape | None, exclusive: Exclusive, met: frozenset[str] = frozenset()
) -> Layout | Refusal:
    """The smallest set of nodes on which Slurm starts `job`, all of which it needs.

    A bare -n job is packed into `node_shape`, or into one node where there is none. `exclusive` is the
    partition's own rule; --exclusive of the job does the same. `met` names options that this partition meets
    outside the layout: --switches, where its queue has a topology.
    """
    refusal = refuse(job, met=met)
    if refusal is not None:
        return refusal
    try:
        groups = _groups(read(job), virtual=node_shape, exclusive=_exclusive(job, exclusive))
    except Unmet as unmet:
        return unmet.refusal
    features = plain_features(user_expression(job.features, job_id=job.unit_id)) or ()
    return Layout(groups=groups, features=features, time_limit=job.time_limit)


def _exclusive(job: Job, rule: Exclusive) -> Exclusive:
    """--exclusive shows as `none`. =user and =mcs need nothing: nobody else is on these nodes anyway."""
    return Exclusive.ALWAYS if job.exclusive == "none" else rule


def _groups(request: Request, *, virtual: NodeShape | None, exclusive: Exclusive) -> tuple[Group, ...]:
    check_startable(request)
    nodes = node_count(request, node_shape=virtual)
    check_agreement(request, nodes=nodes)
    check_dealing(request, nodes=nodes)
    totals = (request.tasks, *(count for _, _, count in request.gres_per_job))
    groups: list[Group] = []
    for index, count in segments(totals, nodes=nodes):
        shape = node_shape_of(request, nodes=nodes, index=index, virtual=virtual, exclusive=exclusive)
        tasks = node_tasks(request, nodes=nodes, index=index)
        if groups and groups[-1].shape == shape:
            groups[-1] = Group(count=groups[-1].count + count, tasks=groups[-1].tasks, shape=shape)
        else:
            groups.append(Group(count=count, tasks=tasks, shape=shape))
    return tuple(groups)
