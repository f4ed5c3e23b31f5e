"""Heterogeneous jobs: one JobSet for all components, admitted as one. Pure.

slurmctld keeps a record for each component and holds, pins and releases each by its own id; it starts,
requeues and ends them together. So they are decided on as one job, and what is done to it is done to each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec

from k8s_bridge.core import naming
from k8s_bridge.slurm.effects import AllowRequeue, Effect, PinAndRelease, Rehold, TakeHold
from k8s_bridge.slurm.facts import TEXT_PREFIX
from k8s_bridge.slurm.layout.features import pin, pin_of, user_expression
from k8s_bridge.slurm.layout.types import Layout, Refusal
from k8s_bridge.slurm.model import PENDING, Job

MAX_POD_SETS = 8
"""Kueue's bound on the pod sets of a Workload."""
OPTION = "het job"

Plan = tuple[Layout | Refusal | None, str]


def whole(components: Sequence[Job]) -> Job:
    """One record that stands for all: the first, with what is true of any (held, nodes) or all (pinned)."""
    first = components[0]
    alive = [one for one in components if not one.terminal] or [first]
    shown = [one for one in alive if one.active and PENDING not in one.states] or alive
    holder = min((one for one in shown if one.held), key=_held_by_us, default=first)
    limits = [one.time_limit for one in components]
    pinned = all(pin_of(one.features, job_id=first.job_id) for one in alive)
    return msgspec.structs.replace(
        first,
        states=frozenset().union(*(one.states for one in shown)),
        held=holder.held,
        reason=holder.reason,
        admin_comment=holder.admin_comment,
        features=naming.node_feature(first.job_id) if pinned else "",
        nodes=",".join(one.nodes for one in shown if one.nodes),
        requeue=all(one.requeue for one in components),
        time_limit=None if None in limits else max(filter(None, limits), default=0),
    )


def _held_by_us(one: Job) -> bool:
    """The hold that is not ours (yet) is the one to be told of."""
    return one.reason == "JobHeldAdmin" and one.admin_comment.startswith(TEXT_PREFIX)


def joined(components: Sequence[Job], plans: Sequence[Plan]) -> Plan:
    """The layouts of the components as one, or why there is none."""
    if any(one.partition != components[0].partition for one in components):
        return Refusal(
            option=OPTION, text="Its components are admitted as one; use one partition for all."
        ), ""
    layouts = [found for found, _ in plans if isinstance(found, Layout)]
    if len(layouts) < len(plans):
        return next((found for found, _ in plans if isinstance(found, Refusal)), None), ""
    groups = tuple(group for layout in layouts for group in layout.groups)
    if len(groups) > MAX_POD_SETS:
        text = f"It needs {len(groups)} kinds of nodes, and Kueue admits {MAX_POD_SETS} as one; use fewer."
        return Refusal(option=OPTION, text=text), ""
    return Layout(groups=groups), "+".join(shape for _, shape in plans)


def spread(effects: Sequence[Effect], components: Sequence[Job]) -> Iterator[Effect]:
    """What is done to the job, done to each component by its own id; cancelling the first ends all."""
    for effect in effects:
        match effect:
            case PinAndRelease():
                yield from (_released(effect, one) for one in components if one.held)
            case Rehold():
                yield from (_unpinned(effect, one) for one in components)
            case TakeHold() | AllowRequeue():
                yield from (replace(effect, job_id=one.job_id) for one in components)
            case _:
                yield effect


def _released(effect: PinAndRelease, one: Job) -> Effect:
    user = user_expression(one.features, job_id=one.unit_id)
    constraints = pin(user, job_id=one.unit_id, component=one.het_job_offset)
    return replace(effect, job_id=one.job_id, constraints=constraints)


def _unpinned(effect: Rehold, one: Job) -> Effect:
    constraints = user_expression(one.features, job_id=one.unit_id)
    return replace(effect, job_id=one.job_id, constraints=constraints)
