"""What one bridge says of itself when asked: the gauges of a scrape, and the head of the status page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitGroup:
    """Labels that units are counted by; never anything that names one unit or person."""

    state: str
    partition: str = ""
    queue: str = ""


class Amount(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a resource is in use, in its own unit (cores, bytes, pieces)."""

    flavor: str
    resource: str
    used: float
    """Reserved by admitted Workloads of this LocalQueue, Slurm's and others."""
    used_by_all: float
    """The same of every LocalQueue of the ClusterQueue."""
    nominal: float
    """The ClusterQueue's own quota; more than that is borrowed."""


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """A LocalQueue that jobs of this bridge are sent to."""

    name: str
    cluster_queue: str = ""
    pending: int = 0
    """Workloads that wait, Slurm's and others."""
    admitted: int = 0
    trouble: str = ""
    """Why nothing can be admitted; "" when something can."""
    amounts: tuple[Amount, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One bridge at one moment. Of a bridge that does not run, everything but `blocked` is empty."""

    units: Mapping[UnitGroup, int] = field(default_factory=dict)
    held_jobs: int = 0
    """Held jobs without quota yet."""
    oldest: Mapping[str, float] = field(default_factory=dict)
    """By state: seconds for which the oldest unit has been in it."""
    slurm_jobs: int = 0
    """All jobs that slurmctld knows, in any state."""
    slurm_nodes: int = 0
    """Registered dynamic nodes of ours."""
    ghost_nodes: int = 0
    """Nodes of ours whose JobSet is gone."""
    ready: int = 0
    """Queue: units to be looked at now."""
    delayed: int = 0
    """Queue: units that rest or have a timer."""
    active: int = 0
    """Queue: units that are being worked on."""
    blocked: str = ""
    """Why nothing is decided; "" is counted as synced."""
    wedged: str = ""
    """Why the loop must be considered hung; "" when it works."""
    guarded: bool = False
    """Deletions are refused: Slurm suddenly knows none of many of our jobs."""
    last_answer: float = 0.0
    """Unix seconds of Slurm's last good answer; 0 is never."""
    token_expires: float | None = None
    """Unix seconds; None when the token does not say, or is not known yet."""
    quarantined: Mapping[str, int] = field(default_factory=dict)
    """Malformed items left out now, by source."""
    queues: tuple[Queue, ...] = ()
    info: Mapping[str, str] = field(default_factory=dict)
    """slurm_version, slurm_api_version, slurm_cluster."""


NOT_RUNNING = Reading(blocked="the bridge is not connected yet")
