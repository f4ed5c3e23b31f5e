"""Changes of a job and of nodes, as data, and how each API version spells them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
    """What to change; None leaves a field alone and "" clears a text. Times are Unix seconds, limits minutes."""

    hold: Hold | None = None
    constraints: str | None = None
    comment: str | None = None
    admin_comment: str | None = None
    begin_time: int | None = None
    """0 means now; see `SlurmClient.update_job` for what a requeue does to it."""
    priority: int | None = None
    time_limit: int | None = None
    partition: str | None = None
    required_nodes: tuple[str, ...] | None = None
    excluded_nodes: tuple[str, ...] | None = None
