"""Conditions of a status: what is to be written, given what is there. Pure; one writer owns its own types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from api.views import Condition

Status = Literal["True", "False", "Unknown"]

_MESSAGE_MAX = 32_768  # metav1.Condition's own bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What we found about one condition type. `reason` is one CamelCase word, `message` a sentence."""

    type: str
    status: Status
    reason: str
    message: str = ""


def merge(
    there: Sequence[Condition],
    findings: Iterable[Finding],
    *,
    now: datetime,
    generation: int,
) -> tuple[Condition, ...]:
    """The conditions to be written: `there` with ours replaced in place and new ones at the end.

    `last_transition_time` moves only when the status of a condition changes. Types that are not among
    `findings` belong to others, or were not looked at, and stay as they are.
    """
    ours = {finding.type: finding for finding in findings}
    before = {condition.type: condition for condition in there}
    merged = {condition.type: condition for condition in there}
    for kind, finding in ours.items():
        merged[kind] = _one(finding, before.get(kind), now=now, generation=generation)
    return tuple(merged.values())


def _one(finding: Finding, before: Condition | None, *, now: datetime, generation: int) -> Condition:
    same = before is not None and before.status == finding.status
    since = before.last_transition_time if same and before is not None else None
    return Condition(
        type=finding.type,
        status=finding.status,
        reason=finding.reason,
        message=finding.message[:_MESSAGE_MAX],
        last_transition_time=since or now.replace(microsecond=0),
        observed_generation=generation,
    )
