"""What a job's start depends on besides its own record: as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from k8s_bridge.slurm.model import Job, Reservation


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """What one Slurm cluster has at the moment. None: Slurm was not asked yet."""

    partitions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By name: the states of partitions."""
    licenses: Mapping[str, int] | None = None
    """By name: how many are not in use."""
    reservations: Mapping[str, Reservation] | None = None
    """By name."""


UNASKED = Availability()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The surroundings of one job."""

    available: Availability = UNASKED
    promised: Mapping[str, int] = field(default_factory=dict)
    """Licenses of other jobs for which capacity was asked and that do not run yet."""
    predecessors: Mapping[int, Job] = field(default_factory=dict)
    """Records of jobs that its dependency names; those that slurmctld has forgotten are absent."""
    rival: Job | None = None
    """For --dependency=singleton: a job of the same name and user that goes before it."""


NOTHING = Surroundings()
