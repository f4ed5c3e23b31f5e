"""What a job waits for (--dependency): read, looked at again, written as slurmctld shows it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from k8s_bridge.sandbox.slurm_fake.errors import Errno, SlurmError

_CLAUSE = re.compile(r"(?P<kind>afterany|afterok|afternotok)(?P<ids>(?::\d+)+)")


class Outcome(StrEnum):
    """What there is to say of one condition, in slurmctld's words; MET ones are not shown any more."""

    UNFULFILLED = "unfulfilled"
    FAILED = "failed"
    MET = "met"


Ending = Callable[[int], bool | None]
"""How a job ended: well, badly, or None when it has not. Raises SlurmError for an unknown id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One job that is waited for, and how it has to end."""

    kind: str
    job_id: int
    outcome: Outcome = Outcome.UNFULFILLED

    def __str__(self) -> str:
        return f"{self.kind}:{self.job_id}({self.outcome})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """Conditions joined by `separator`: "," asks for all of them, "?" for any."""

    conditions: tuple[Condition, ...] = ()
    separator: str = ","

    @property
    def hopeless(self) -> bool:
        """It can never be met."""
        return any(condition.outcome is Outcome.FAILED for condition in self.conditions)

    def __str__(self) -> str:
        return self.separator.join(map(str, self.conditions))


def read(text: str, *, known: Callable[[int], bool]) -> Dependency:
    """The dependency that a text asks for. Raises SlurmError for one that cannot be, or of an unknown job."""
    if not text:
        return Dependency()
    separator = "?" if "?" in text else ","
    conditions = [condition for clause in text.split(separator) for condition in _conditions(clause)]
    if not all(known(condition.job_id) for condition in conditions):
        raise SlurmError(Errno.DEPENDENCY)
    return Dependency(conditions=tuple(conditions), separator=separator)


def looked_at(dependency: Dependency, *, ending: Ending) -> Dependency:
    """What is left of it now; empty when it is met."""
    now = [replace(condition, outcome=_outcome(condition, ending)) for condition in dependency.conditions]
    met = [condition for condition in now if condition.outcome is Outcome.MET]
    if met and dependency.separator == "?":
        return Dependency()
    left = tuple(condition for condition in now if condition not in met)
    return replace(dependency, conditions=left)


def _conditions(clause: str) -> Sequence[Condition]:
    found = _CLAUSE.fullmatch(clause)
    if found is None:
        raise SlurmError(Errno.DEPENDENCY)
    ids = found["ids"].split(":")[1:]
    return [Condition(kind=found["kind"], job_id=int(job_id)) for job_id in ids]


def _outcome(condition: Condition, ending: Ending) -> Outcome:
    well = ending(condition.job_id)
    if well is None:
        return Outcome.UNFULFILLED
    wanted = {"afterok": well, "afternotok": not well}.get(condition.kind, True)
    return Outcome.MET if wanted else Outcome.FAILED
