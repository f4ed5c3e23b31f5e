"""What Kueue says about one JobSet, reduced to the facts a bridge acts on.

Source: Workload conditions as Kueue 0.17 writes them. `Evicted=True` is the signal of an eviction: it comes
while `Admitted` is still True, and stays True until the Workload is admitted again.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from api.views import Condition, Workload


class Capacity(StrEnum):
    """Where a request for capacity stands."""

    NONE = "None"
    """No Workload exists (yet)."""
    WAITING = "Waiting"
    """No quota, or quota that an admission check still holds back."""
    ADMITTED = "Admitted"
    EVICTED = "Evicted"
    """Admitted until now; pods are about to end."""
    FINISHED = "Finished"


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """Kueue's verdict. `since` is when it was given (Unix seconds; 0 when unknown).

    `eviction` is why capacity was last taken away, as `Reason: message` (the message alone once quota is
    reserved again); "" after it was admitted again.
    """

    capacity: Capacity
    reason: str = ""
    message: str = ""
    workload_uid: str = ""
    since: float = 0.0
    eviction: str = ""


_NOTHING = Admission(capacity=Capacity.NONE)


def condition(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """The condition of that type, or None."""
    return next((c for c in conditions if c.type == kind), None)


def is_true(found: Condition | None) -> bool:
    """Whether a condition is there and True."""
    return found is not None and found.status == "True"


def admission_of(workload: Workload | None) -> Admission:
    """Read the verdict off a Workload's conditions; a JobSet without a Workload has none."""
    if workload is None:
        return _NOTHING
    found = {c.type: c for c in workload.status.conditions}
    uid = workload.metadata.uid
    if is_true(found.get("Finished")):
        return _verdict(Capacity.FINISHED, found["Finished"], uid)
    if is_true(found.get("Admitted")):
        evicted = is_true(found.get("Evicted"))
        capacity, kind = (Capacity.EVICTED, "Evicted") if evicted else (Capacity.ADMITTED, "Admitted")
        return _verdict(capacity, found[kind], uid, eviction=_eviction(found))
    return _waiting(workload, found)


def _waiting(workload: Workload, found: dict[str, Condition]) -> Admission:
    uid = workload.metadata.uid
    if not workload.spec.active:
        return _verdict(
            Capacity.WAITING, found.get("Evicted"), uid, fallback="Deactivated", eviction=_eviction(found)
        )
    quota = found.get("QuotaReserved")
    if not is_true(quota):
        return _verdict(Capacity.WAITING, quota, uid, fallback="Pending", eviction=_eviction(found))
    return Admission(
        capacity=Capacity.WAITING,
        reason="AdmissionCheck",
        message="quota is reserved; an admission check is not ready yet",
        workload_uid=uid,
        eviction=_past_eviction(found),
    )


def _eviction(found: dict[str, Condition]) -> str:
    evicted = found.get("Evicted")
    return f"{evicted.reason}: {evicted.message}" if evicted is not None and is_true(evicted) else ""


def _past_eviction(found: dict[str, Condition]) -> str:
    """Reserving quota turns the condition: it then tells of the past, and may have been true for a moment."""
    evicted = found.get("Evicted")
    return evicted.message.removeprefix("Previously: ") if evicted is not None else ""


def _verdict(
    capacity: Capacity, said: Condition | None, uid: str, *, fallback: str = "", eviction: str = ""
) -> Admission:
    if said is None:
        return Admission(capacity=capacity, reason=fallback, workload_uid=uid, eviction=eviction)
    when = said.last_transition_time
    return Admission(
        capacity=capacity,
        reason=said.reason or fallback,
        message=said.message,
        workload_uid=uid,
        since=when.timestamp() if when else 0.0,
        eviction=eviction,
    )
