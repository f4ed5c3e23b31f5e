"""What a world consists of. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from k8s_bridge.sandbox.controllers.timing import FAST, REALISTIC, Timing

NAMESPACE = "hpc"
MIXING = "main"
AUTH_SECRET = "slurm-auth"  # noqa: S105 - the name of a Secret
FLAVOR = "default"
TEAM_A, TEAM_B = "team-a", "team-b"
LOW, NORMAL, HIGH = "low", "normal", "high"
CLASSES: Mapping[str, int] = {LOW: 100, NORMAL: 1_000, HIGH: 10_000}
BATCH, URGENT = "batch", "urgent"
"""The managed partitions: team-a's at normal priority, team-b's at high priority."""
PARTITIONS = (BATCH, URGENT)


class Backend(StrEnum):
    """What plays Slurm."""

    FAKE = "fake"
    """slurmctld's behaviour in this process."""
    REAL = "real"
    """slurmctld, slurmrestd and a slurmd for each pod."""


class Pace(StrEnum):
    """How long controllers and kubelets take."""

    FAST = "fast"
    REALISTIC = "realistic"

    @property
    def timing(self) -> Timing:
        """The delays."""
        return FAST if self is Pace.FAST else REALISTIC


class Sharing(StrEnum):
    """How the two teams share the quota."""

    ONE_QUEUE = "one ClusterQueue"
    COHORT = "a ClusterQueue each, in one cohort"


def _quota() -> dict[str, str]:
    return {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "8", "pods": "100"}


def _machine() -> dict[str, str]:
    return {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "8", "pods": "110"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldConfig:
    """One world.

    `release` is Slurm's; `quota` what both teams have together; `machine` what each of the `machines`
    Kubernetes nodes has; `spec` is laid over the spec of the WorkloadMixing; `slurm_conf` are more lines
    for the slurm.conf of a real cluster.
    """

    directory: Path
    slurm: Backend = Backend.FAKE
    release: str = "24.11"
    machines: int = 4
    machine: Mapping[str, str] = field(default_factory=_machine)
    quota: Mapping[str, str] = field(default_factory=_quota)
    sharing: Sharing = Sharing.ONE_QUEUE
    pace: Pace = Pace.FAST
    spec: Mapping[str, Any] = field(default_factory=dict)
    slurm_conf: str = ""
    seed: int = 0
