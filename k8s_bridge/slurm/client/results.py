"""What reads return: a whole listing, or the word that nothing changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Glance(NamedTuple):
    """All that the cheap list of states tells of one job id."""

    states: frozenset[str]
    """Base state and flags; of an array's waiting tasks those of all of them."""
    tasks: frozenset[int] = frozenset()
    """Numbers of the array tasks that are listed under this id; none for other jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[T]):
    """A complete list as slurmctld held it at `last_update` (its own clock, Unix seconds).

    `malformed` counts items that could not be read and are left out: absence from `items` is no proof of
    absence from Slurm.
    """

    items: tuple[T, ...]
    last_update: int
    malformed: int = 0


@dataclass(frozen=True, slots=True)
class Unchanged:
    """slurmctld has nothing newer than the time that was asked about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class License:
    """One kind of license, and how many of it are free now."""

    name: str
    free: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One partition; `nodes` is the expression it was configured with: node sets or a hostlist."""

    name: str
    nodes: str = ""
    states: frozenset[str] = frozenset()
