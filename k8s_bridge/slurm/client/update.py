"""Changes of a job and of nodes, as data, how each API version spells them, and when they have been made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from k8s_bridge.slurm.client.versions import Api, Can
from k8s_bridge.slurm.hostlist import expand
from k8s_bridge.slurm.model import Job

AT_ONCE = 1
"""A begin time that makes a job eligible now. Slurm reads 0 as "no change"."""


class Hold(StrEnum):
    """Taking the hold makes it ours (JobHeldAdmin); releasing it lets Slurm start the job."""

    TAKE = "take"
    RELEASE = "release"


class NodeState(StrEnum):
    """What a node can be told to be."""

    DOWN = "DOWN"
    DRAIN = "DRAIN"
    RESUME = "RESUME"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobUpdate:
    """What to change; None leaves a field alone and "" clears a text.

    `begin_time` is Unix seconds (AT_ONCE undoes the wait that a requeue brings), `time_limit` minutes.
    v0.0.38 cannot set `admin_comment`: there the client does it by scontrol.
    """

    hold: Hold | None = None
    constraints: str | None = None
    comment: str | None = None
    admin_comment: str | None = None
    claim: str | None = None
    """admin_comment until the hold is taken, for v0.0.38, which cannot change both in one call."""
    begin_time: int | None = None
    priority: int | None = None
    time_limit: int | None = None
    partition: str | None = None
    requeue: bool | None = None
    """Whether Slurm may requeue the job; a running job can be told so too."""
    minimum_nodes: int | None = None
    """v0.0.38 has no word for it: there the client does it by scontrol."""
    required_nodes: tuple[str, ...] | None = None
    excluded_nodes: tuple[str, ...] | None = None


def sayable(update: JobUpdate, *, api: Api) -> JobUpdate:
    """The update without what `api` has no words for."""
    return update if Can.STRUCTURED in api.can else replace(update, admin_comment=None, minimum_nodes=None)


def body_of(update: JobUpdate, *, api: Api) -> dict[str, Any]:
    """The fields that are set, as `api` spells them."""
    spelled = _structured(update) if Can.STRUCTURED in api.can else _plain(update)
    fields = {
        "hold": None if update.hold is None else update.hold is Hold.TAKE,
        "constraints": update.constraints,
        "comment": update.comment,
        "admin_comment": update.admin_comment,
        "partition": update.partition,
        "requeue": update.requeue,
        **spelled,
    }
    return {name: value for name, value in fields.items() if value is not None}


def made(update: JobUpdate, *, job: Job) -> bool:
    """Whether the job shows every change that a record of it can show."""
    wanted = (
        (None if update.hold is None else update.hold is Hold.TAKE, job.held),
        (update.constraints, job.features),
        (update.comment, job.comment),
        (update.admin_comment, job.admin_comment),
        (update.partition, job.partition),
        (update.requeue, job.requeue),
        (update.priority, job.priority),
        (update.time_limit, job.time_limit),
        (update.minimum_nodes, job.node_count),
        (_names(update.required_nodes), _expanded(job.required_nodes)),
        (_names(update.excluded_nodes), _expanded(job.excluded_nodes)),
    )
    return all(want is None or want == have for want, have in wanted)


def _structured(update: JobUpdate) -> dict[str, Any]:
    return {
        "begin_time": _number(None if update.begin_time is None else max(update.begin_time, AT_ONCE)),
        "priority": _number(update.priority),
        "time_limit": _number(update.time_limit),
        "minimum_nodes": update.minimum_nodes,
        # An empty list changes nothing; a list with an empty name clears.
        "required_nodes": None if update.required_nodes is None else list(update.required_nodes) or [""],
        "excluded_nodes": None if update.excluded_nodes is None else list(update.excluded_nodes) or [""],
    }


def _plain(update: JobUpdate) -> dict[str, Any]:
    return {
        "begin_time": _moment(update.begin_time),
        "priority": None if update.priority is None else str(update.priority),
        "time_limit": update.time_limit,
        "node_list": None if update.required_nodes is None else ",".join(update.required_nodes),
        "exclude_nodes": None if update.excluded_nodes is None else ",".join(update.excluded_nodes),
    }


def _moment(seconds: int | None) -> str | None:
    if seconds is None:
        return None
    return f"uts{seconds}" if seconds > AT_ONCE else "now"


def _number(value: int | None) -> dict[str, Any] | None:
    return None if value is None else {"set": True, "infinite": False, "number": value}


def _names(names: tuple[str, ...] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)


def _expanded(hostlist: str) -> frozenset[str]:
    return frozenset(expand(hostlist))
