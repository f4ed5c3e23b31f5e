"""What is remembered of a unit: since when it is as it is, and when a JobSet may follow one that failed."""

from __future__ import annotations

from dataclasses import replace

from api.views import JobSet
from k8s_bridge.slurm.unit import Seen, State, Unit

FIRST_PAUSE, LONGEST_PAUSE = 10.0, 600.0
"""Seconds between two JobSets of a job whose JobSets fail."""
_DOUBLINGS = 6


def began(unit: Unit, state: State, now: float) -> float:
    """Since when, from the cluster where it tells: a restart must not start the clock of a timeout again."""
    if state is State.ADMITTED and unit.workload is not None:
        for found in unit.workload.status.conditions:
            if found.type == "Admitted" and found.last_transition_time:
                return min(now, found.last_transition_time.timestamp())
    if state is State.HELD and unit.job is not None:
        return min(now, float(unit.job.submit_time)) or now
    return now


def of_slot(seen: Seen | None, jobset: JobSet | None) -> Seen | None:
    """What was seen of a slot, unless it has another JobSet by now: its number is given anew at once."""
    another = seen is not None and jobset is not None and seen.jobset != jobset.metadata.uid
    return None if another else seen


def uid_of(jobset: JobSet | None) -> str:
    """The JobSet's uid, "" for none."""
    return jobset.metadata.uid if jobset is not None else ""


def failed_again(seen: Seen, now: float) -> Seen:
    """Each JobSet that fails makes the next one wait longer."""
    pause = min(FIRST_PAUSE * 2.0 ** min(seen.failures, _DOUBLINGS), LONGEST_PAUSE)
    return replace(seen, failures=seen.failures + 1, not_before=now + pause)


def paused(seen: Seen | None, now: float) -> bool:
    """Whether the next JobSet is not to be asked for yet."""
    return seen is not None and now < seen.not_before
