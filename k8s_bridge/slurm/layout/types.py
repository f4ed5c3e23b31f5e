"""What the layout engine returns: groups of equal pods, or a refusal that names the option."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One virtual node. `memory` is MiB that Slurm may hand out; 0 means the job did not ask for memory."""

    cpus: int
    memory: int
    gres: tuple[tuple[str, str, int], ...] = ()
    """(name, type or "", count), such as ("gpu", "a100", 2); sorted."""
    whole_node: bool = False
    """--exclusive: one pod per Kubernetes node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """`count` pods of one shape, each running at most `tasks` tasks."""

    count: int
    tasks: int
    shape: Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """All pods of one job. `features` are the user's -C features that the nodes must advertise."""

    groups: tuple[Group, ...]
    features: tuple[str, ...] = ()
    time_limit: int | None = None
    """Minutes; None is no limit."""

    @property
    def nodes(self) -> int:
        """How many Slurm nodes the job gets."""
        return sum(group.count for group in self.groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why no capacity can be asked for. `option` is what the user typed, such as "--gpus-per-socket"."""

    option: str
    text: str
    """One sentence: what is not possible and what to do instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeShape:
    """`partitionMappings[].nodeShape`: the virtual node that bare -n jobs are packed into (memory in MiB)."""

    cpus: int
    memory: int | None = None
    gpus: int = 0


class Exclusive(StrEnum):
    """`partitionMappings[].exclusive`: whole nodes for jobs that say --exclusive, or for all jobs."""

    AS_ASKED = "AsAsked"
    ALWAYS = "Always"
