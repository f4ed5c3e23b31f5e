"""Dependencies as Slurm judges them.

slurmctld looks at the dependencies of a held job only once a minute; the text in the record is that old.
So each term is judged by the records of the jobs that it names, as slurmctld itself will when the job is
released. What cannot be judged so (array tasks, jobs that are forgotten) waits for slurmctld's own look.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from k8s_bridge.slurm.eligibility.surroundings import Surroundings
from k8s_bridge.slurm.model import PENDING, Job

SINGLETON = "singleton"
_MINUTE = 60
_ANY = "?"
_TERM = re.compile(
    r"(?P<kind>[a-z]+)(?::(?P<id>\d+)(?P<task>_[^+(]*)?(?:\+(?P<delay>\d+))?)?(?:\((?P<state>\w+)\))?"
)


class Fate(Enum):
    """What becomes of one term."""

    MET = auto()
    WAITS = auto()
    NEVER = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One term. `delay` is minutes; `failed` is slurmctld's own verdict."""

    kind: str
    job_id: int | None = None
    task: str = ""
    delay: int = 0
    failed: bool = False

    def __str__(self) -> str:
        return self.kind if self.job_id is None else f"{self.kind}:{self.job_id}{self.task}"


def terms(dependency: str) -> tuple[Term, ...]:
    """The terms of a record's dependency, such as `afterok:5(unfulfilled),singleton(unfulfilled)`."""
    return tuple(_term(match) for text in re.split(r"[,?]", dependency) if (match := _TERM.fullmatch(text)))


def predecessors(dependency: str) -> tuple[int, ...]:
    """The ids of the jobs that it names."""
    if not dependency:
        return ()
    return tuple(term.job_id for term in terms(dependency) if term.job_id is not None)


def is_singleton(job: Job) -> bool:
    """Whether it must be the only one of its name and user."""
    return SINGLETON in job.dependency


def namesake(job: Job) -> str:
    """What jobs of the same name and user have in common."""
    return f"{job.user_id}/{job.name}"


def rival(job: Job, namesakes: Iterable[Job]) -> Job | None:
    """One of the jobs of the same name and user that goes before it: they run singly, in the order of ids."""
    for other in namesakes:
        earlier = PENDING in other.states and other.job_id < job.job_id
        if other.unit_id != job.unit_id and not other.terminal and (earlier or other.active):
            return other
    return None


def judge(job: Job, surroundings: Surroundings, now: float) -> tuple[Fate, str]:
    """What becomes of the job's whole dependency, and a sentence about the terms that decide it."""
    found = [(term, *_fate(term, job, surroundings, now)) for term in terms(job.dependency)]
    if not found:
        return Fate.WAITS, f"waits for its dependency {job.dependency}"
    fates = {fate for _, fate, _ in found}
    overall = _any(fates) if _ANY in job.dependency else _all(fates)
    decisive = [_said(term, detail) for term, fate, detail in found if fate is overall]
    if overall is Fate.NEVER:
        return overall, f"its dependency can never be met: {', '.join(decisive)}; change it or cancel the job"
    return overall, f"waits for its dependency {', '.join(decisive)}"


def _any(fates: set[Fate]) -> Fate:
    return next(fate for fate in (Fate.MET, Fate.WAITS, Fate.NEVER) if fate in fates)


def _all(fates: set[Fate]) -> Fate:
    return next(fate for fate in (Fate.NEVER, Fate.WAITS, Fate.MET) if fate in fates)


def _said(term: Term, detail: str) -> str:
    return f"{term} ({detail})" if detail else str(term)


def _fate(term: Term, job: Job, surroundings: Surroundings, now: float) -> tuple[Fate, str]:
    if term.kind == SINGLETON:
        return _singleton(surroundings.rival)
    before = surroundings.predecessors.get(term.job_id or 0)
    detail = f"job {term.job_id} is {_state(before)}" if before else ""
    if term.failed:
        return Fate.NEVER, detail
    rule = _RULES.get(term.kind)
    if before is None or term.task or rule is None:
        return Fate.WAITS, detail
    return rule(before, term, now), detail


def _singleton(rival: Job | None) -> tuple[Fate, str]:
    if rival is None:
        return Fate.MET, ""
    return Fate.WAITS, f"job {rival.job_id} of the same name is {_state(rival)}"


def _after(before: Job, term: Term, now: float) -> Fate:
    if PENDING in before.states:
        return Fate.WAITS
    begun = before.start_time + term.delay * _MINUTE
    return Fate.MET if before.terminal or begun <= now else Fate.WAITS


def _afterany(before: Job, term: Term, now: float) -> Fate:
    return Fate.MET if before.terminal else Fate.WAITS


def _afterok(before: Job, term: Term, now: float) -> Fate:
    if not before.terminal:
        return Fate.WAITS
    return Fate.MET if "COMPLETED" in before.states else Fate.NEVER


def _afternotok(before: Job, term: Term, now: float) -> Fate:
    if not before.terminal:
        return Fate.WAITS
    return Fate.NEVER if "COMPLETED" in before.states else Fate.MET


_RULES: Mapping[str, Callable[[Job, Term, float], Fate]] = {
    "after": _after,
    "afterany": _afterany,
    "afterok": _afterok,
    "afternotok": _afternotok,
}


def _term(match: re.Match[str]) -> Term:
    return Term(
        kind=match["kind"],
        job_id=int(match["id"]) if match["id"] else None,
        task=match["task"] or "",
        delay=int(match["delay"] or 0),
        failed=match["state"] == "failed",
    )


def _state(job: Job) -> str:
    return " ".join(sorted(job.states))
