"""What reads return: a whole listing, or the word that nothing changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


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
class Partition:
    """One partition; `nodes` is the expression it was configured with: node sets or a hostlist."""

    name: str
    nodes: str = ""
    states: frozenset[str] = frozenset()
