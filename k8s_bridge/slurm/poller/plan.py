"""What a cheap list of states says about the rows that are known. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from k8s_bridge.slurm.client.results import Glance
from k8s_bridge.slurm.model import Job

SUSPICIOUS_LEAST = 3
SUSPICIOUS_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Ids that are new or have another state than their row, and ids whose row Slurm did not list."""

    moved: frozenset[int]
    gone: frozenset[int]


def compare(states: Mapping[int, Glance], rows: Iterable[Job]) -> Changes:
    """What differs between the states that Slurm lists and the rows."""
    known = {row.job_id: row.states for row in rows}
    return Changes(
        moved=frozenset(job_id for job_id, now in states.items() if known.get(job_id) != now.states),
        gone=frozenset(known.keys() - states.keys()),
    )


def suspicious(gone: Iterable[Job], rows: Iterable[Job]) -> bool:
    """Whether so many jobs are missing that were not over that the answer is to be doubted.

    A job that was over is purged after MinJobAge, and a hundred of them at once is nothing strange.
    """
    lost = sum(1 for job in gone if not job.terminal)
    if lost < SUSPICIOUS_LEAST:
        return False
    return lost > SUSPICIOUS_SHARE * sum(1 for job in rows if not job.terminal)


def relist_is_cheaper(count: int, *, listed: int) -> bool:
    """Whether a full listing of `listed` jobs costs less than `count` single questions (measured: 1 to 3)."""
    return count > max(_FEW, listed // _SHARE)


_FEW = 200
_SHARE = 3
