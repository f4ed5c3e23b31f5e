"""Node rows: what a slurmd registered, what runs there, and the state words that follow."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from k8s_bridge.sandbox.slurm_fake.gres import Gres, owned

HOST_MEMORY = 16_000
"""MiB that a slurmd reports when its --conf does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one job holds of one node. `memory` in MiB; `gres` as (position in the node's list, count)."""

    node: str
    cpus: int
    memory: int
    tasks: int
    gres: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True, kw_only=True, eq=False)
class Node:
    """One dynamic node. `alive`: a slurmd stands behind it; times are Unix seconds, 0 for never."""

    name: str
    cpus: int = 1
    memory: int = HOST_MEMORY
    gres: tuple[Gres, ...] = ()
    features: tuple[str, ...] = ()
    alive: bool = True
    down: bool = False
    drain: bool = False
    silent_since: float = 0.0
    not_responding: bool = False
    completing_until: float = 0.0
    reason: str = ""
    reason_time: int = 0
    comment: str = ""
    extra: str = ""
    started: int = 0
    last_busy: int = 0
    shares: dict[int, Share] = field(default_factory=dict)

    @property
    def free_cpus(self) -> int:
        """CPUs that no job holds."""
        return self.cpus - sum(share.cpus for share in self.shares.values())

    @property
    def free_memory(self) -> int:
        """MiB that no job holds."""
        return self.memory - sum(share.memory for share in self.shares.values())

    def free_gres(self, position: int) -> int:
        """How many of the resource at `position` no job holds."""
        taken = (count for share in self.shares.values() for place, count in share.gres if place == position)
        return self.gres[position].count - sum(taken)

    def states(self, now: float) -> list[str]:
        """The base state and the flags, in slurmrestd's order."""
        flags = {
            "DRAIN": self.drain,
            "COMPLETING": self.completing_until > now,
            "NOT_RESPONDING": self.not_responding,
            "DYNAMIC_NORM": True,
        }
        return [self._base(), *(flag for flag, up in flags.items() if up)]

    def usable(self, now: float) -> bool:
        """Whether the scheduler may start something here."""
        return not (self.down or self.drain or self.not_responding or self.completing_until > now)

    def _base(self) -> str:
        if self.down:
            return "DOWN"
        if not self.shares:
            return "IDLE"
        return "MIXED" if self.free_cpus else "ALLOCATED"


def from_conf(name: str, conf: str, *, now: float) -> Node:
    """The node that `slurmd --conf "CPUs=4 RealMemory=4000 Features=a,b Gres=gpu:4"` registers.

    Raises ValueError for what slurmd refuses.
    """
    words = [word.partition("=") for word in shlex.split(conf)]
    given = {key.lower(): value for key, _, value in words}
    if "nodename" in given or not all(value for _, _, value in words):
        raise ValueError(f"slurmd: fatal: --conf cannot be used: {conf!r}")
    features = given.get("features", given.get("feature", ""))
    return Node(
        name=name,
        cpus=int(given.get("cpus", "1")),
        memory=int(given.get("realmemory", HOST_MEMORY)),
        gres=owned(given.get("gres", "")),
        features=tuple(filter(None, features.split(","))),
        started=int(now),
        last_busy=int(now),
    )
