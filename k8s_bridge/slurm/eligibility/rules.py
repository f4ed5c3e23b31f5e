"""The rules of eligibility, as a table: the first obstacle that is found is the one that people are told."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from k8s_bridge.slurm.eligibility import dependency as dependencies
from k8s_bridge.slurm.eligibility import licenses
from k8s_bridge.slurm.eligibility.dependency import Fate
from k8s_bridge.slurm.eligibility.obstacle import Grip, Obstacle
from k8s_bridge.slurm.eligibility.surroundings import Surroundings
from k8s_bridge.slurm.eligibility.withheld import is_requeue_delay
from k8s_bridge.slurm.model import Job

_MINUTE = 60
_ASKING = "AskingSlurm"
"""A word of its own: the text that follows must not count as the same one in other words."""
REASONS = frozenset(
    {
        "Dependency",
        "DependencyNeverSatisfied",
        "BeginTime",
        "Deadline",
        "PartitionDown",
        "Reservation",
        "Licenses",
        _ASKING,
    }
)
"""Every word that an obstacle may have."""
_CLOSED = frozenset({"DOWN", "INACTIVE"})

Rule = Callable[[Job, Surroundings, float], Obstacle | None]


def dependency(job: Job, surroundings: Surroundings, now: float) -> Obstacle | None:
    """Its dependency (`--dependency`) is not met, or can never be."""
    if not job.dependency:
        return None
    fate, text = dependencies.judge(job, surroundings, now)
    if fate is Fate.MET:
        return None
    return Obstacle(reason="DependencyNeverSatisfied" if fate is Fate.NEVER else "Dependency", text=text)


def begin_time(job: Job, surroundings: Surroundings, now: float) -> Obstacle | None:
    """Its `--begin` (or `StartTime`) is in the future. The delay after a requeue is none: it is undone."""
    if job.eligible_time <= now or is_requeue_delay(job, now):
        return None
    begin = float(job.eligible_time)
    return Obstacle(reason="BeginTime", text=f"is not to start before {_moment(begin)}", until=begin)


def deadline(job: Job, surroundings: Surroundings, now: float) -> Obstacle | None:
    """Its `--deadline` is missed, or so near that it could not end before it."""
    if job.deadline is None:
        return None
    least = (job.time_minimum or job.time_limit or 0) * _MINUTE
    if now + least <= job.deadline:
        return None
    text = f"cannot end before its deadline {_moment(job.deadline)}; change the deadline or cancel the job"
    return Obstacle(reason="Deadline", text=text)


def partition(job: Job, surroundings: Surroundings, now: float) -> Obstacle | None:
    """Every partition that it names is down or inactive."""
    names = job.partition.split(",")
    states = surroundings.available.partitions
    closed = [name for name in names if not _CLOSED.isdisjoint(states.get(name, ()))]
    if len(closed) < len(names):
        return None
    state = " ".join(sorted(states[closed[0]] & _CLOSED))
    return Obstacle(reason="PartitionDown", text=f"partition {job.partition} is {state}")


def reservation(job: Job, surroundings: Surroundings, now: float) -> Obstacle | None:
    """Its reservation (`--reservation`) has not begun, is over or gone, or holds fixed nodes only."""
    if not job.reservation:
        return None
    known = surroundings.available.reservations
    if known is None:
        return Obstacle(reason=_ASKING, text="Slurm is being asked about reservations", grip=Grip.LOOSE)
    found = [known[name] for name in job.reservation.split(",") if name in known]
    usable = [one for one in found if one.takes_new_nodes and one.end_time > now]
    if any(one.start_time <= now for one in usable):
        return None
    if usable:
        begin = float(min(one.start_time for one in usable))
        text = f"reservation {job.reservation} begins {_moment(begin)}"
        return Obstacle(reason="Reservation", text=text, until=begin)
    if any(one.end_time > now for one in found):
        text = f"reservation {job.reservation} holds fixed nodes; only ANY_NODES or PART_NODES takes new ones"
    else:
        text = f"reservation {job.reservation} is over or gone; drop it or cancel the job"
    return Obstacle(reason="Reservation", text=text)


def license_count(job: Job, surroundings: Surroundings, now: float) -> Obstacle | None:
    """Its licenses (`--licenses`) are in use, or promised to jobs that wait for their capacity."""
    asked = licenses.asked(job.licenses)
    if not asked:
        return None
    known = surroundings.available.licenses
    if known is None:
        return Obstacle(reason=_ASKING, text="Slurm is being asked about licenses", grip=Grip.LOOSE)
    free = {
        name: known.get(name, count) - surroundings.promised.get(name, 0) for name, count in asked.items()
    }
    short = [f"{name}:{n} ({max(0, free[name])} free)" for name, n in asked.items() if n > free[name]]
    if not short:
        return None
    return Obstacle(reason="Licenses", text=f"waits for licenses {', '.join(short)}", grip=Grip.LOOSE)


RULES: tuple[Rule, ...] = (dependency, begin_time, deadline, partition, reservation, license_count)


def obstacle(job: Job, surroundings: Surroundings, *, now: float) -> Obstacle | None:
    """The first thing that keeps Slurm from starting the job at `now` (Unix seconds), or None."""
    for rule in RULES:
        if found := rule(job, surroundings, now):
            return found
    return None


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
