"""How a Workload's status moves. Pure: each function answers the new status; `now` is a metav1.Time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.clock import parse_stamp
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.kueue import messages

QUOTA_RESERVED = "QuotaReserved"
EVICTED = "Evicted"
ADMITTED = "Admitted"
PREEMPTED = "Preempted"
REQUEUED = "Requeued"
FINISHED = "Finished"
DEACTIVATION_TARGET = "DeactivationTarget"
_ORDER = (QUOTA_RESERVED, EVICTED, ADMITTED, PREEMPTED, REQUEUED, DEACTIVATION_TARGET, FINISHED)


def _status(workload: Json) -> Json:
    return dict(workload.get("status") or {})


def _condition(workload: Json, type_: str, *, true: str = "", false: str = "", message: str) -> Json:
    return {
        "type": type_,
        "status": "True" if true else "False",
        "reason": true or false,
        "message": message,
        "observedGeneration": workload["metadata"]["generation"],
    }


def _set(status: Json, *new: Json, now: str) -> Json:
    kept = list(status.get("conditions") or ())
    for condition in new:
        kept = conditions.with_set(kept, condition, now=now, order=_ORDER)
    return status | {"conditions": kept}


def reserve(workload: Json, admission: Json, *, now: str, checks: Sequence[str]) -> Json:
    """Quota is reserved; without admission checks that is admission. Past evictions become past."""
    status = _status(workload) | {"admission": admission}
    status.pop("resourceRequests", None)
    new = [
        _condition(
            workload,
            QUOTA_RESERVED,
            true="QuotaReserved",
            message=messages.quota_reserved(admission["clusterQueue"]),
        )
    ]
    for type_ in (EVICTED, PREEMPTED):
        old = conditions.find(workload, type_)
        if old and old["status"] == "True":
            past = messages.previously(old["message"])
            new.append(_condition(workload, type_, false="QuotaReserved", message=past))
    if not checks:
        new.append(_condition(workload, ADMITTED, true="Admitted", message=messages.ADMITTED))
    return _set(status, *new, now=now)


def admit(workload: Json, *, now: str) -> Json:
    """All admission checks are ready."""
    condition = _condition(workload, ADMITTED, true="Admitted", message=messages.ADMITTED)
    return _set(_status(workload), condition, now=now)


def wait(workload: Json, *, reason: str, message: str, now: str, requests: list[Json] | None = None) -> Json:
    """No quota, and why. `requests` is what the scheduler saw, if it was the scheduler who looked."""
    status = _status(workload)
    status.pop("resourceRequests", None)
    if requests:
        status["resourceRequests"] = requests
    condition = _condition(workload, QUOTA_RESERVED, false=reason, message=message)
    return _set(status, condition, now=now)


def evict(workload: Json, *, reason: str, message: str, now: str, cause: str = "") -> Json:
    """The Workload has to go; it still holds its quota. `cause` is a deactivation's own reason."""
    status = _status(workload)
    status["schedulingStats"] = _counted(status, reason=reason, cause=cause)
    if status.get("admissionChecks"):
        status["admissionChecks"] = [_reset(c, now) for c in status["admissionChecks"]]
    full = f"{reason}DueTo{cause}" if cause else reason
    new = _set(status, _condition(workload, EVICTED, true=full, message=message), now=now)
    return new | {"conditions": conditions.without(new["conditions"], DEACTIVATION_TARGET)}


def _counted(status: Json, *, reason: str, cause: str) -> Json:
    stats = [dict(e) for e in (status.get("schedulingStats") or {}).get("evictions") or ()]
    mine = next((e for e in stats if e["reason"] == reason and e["underlyingCause"] == cause), None)
    if mine is None:
        mine = {"count": 0, "reason": reason, "underlyingCause": cause}
        stats.append(mine)
    mine["count"] += 1
    return {"evictions": stats}


def _reset(check: Json, now: str) -> Json:
    if check["state"] == "Pending":
        return check
    retried = {"retryCount": check.get("retryCount", 0) + 1} if check["state"] == "Retry" else {}
    text = f"Reset to Pending after eviction. Previously: {check['state']}"
    return check | {"state": "Pending", "message": text, "lastTransitionTime": now, **retried}


def preempt(workload: Json, *, reason: str, message: str, now: str) -> Json:
    """Evicted for another Workload."""
    status = evict(workload, reason=PREEMPTED, message=message, now=now)
    condition = {"type": PREEMPTED, "status": "True", "reason": reason, "message": message}
    return _set(status, condition, now=now)


def unreserve(workload: Json, *, now: str) -> Json:
    """An evicted Workload's job has stopped: its quota is free. Only a preempted one queues again at once."""
    status = _status(workload)
    eviction = conditions.find(workload, EVICTED)
    assert eviction is not None
    reason, message = eviction["reason"], eviction["message"]
    status.pop("admission", None)
    new = [_condition(workload, QUOTA_RESERVED, false="Pending", message=message)]
    admitted = conditions.find(workload, ADMITTED)
    if admitted and admitted["status"] == "True":
        status["accumulatedPastExecutionTimeSeconds"] = _ran(status, admitted, now)
        new.append(_no_longer_admitted(workload))
    again = reason == PREEMPTED
    new.append(_condition(workload, REQUEUED, true=reason if again else "", false=reason, message=message))
    return _set(status, *new, now=now)


def _no_longer_admitted(workload: Json) -> Json:
    unready = [c for c in workload["status"].get("admissionChecks") or () if c["state"] != "Ready"]
    if unready:
        return _condition(
            workload,
            ADMITTED,
            false="NoReservationUnsatisfiedChecks",
            message=messages.NO_RESERVATION_NOR_CHECKS,
        )
    return _condition(workload, ADMITTED, false="NoReservation", message=messages.NO_RESERVATION)


def _ran(status: Json, admitted: Json, now: str) -> int:
    since = parse_stamp(now) - parse_stamp(admitted["lastTransitionTime"])
    return int(status.get("accumulatedPastExecutionTimeSeconds", 0)) + int(since.total_seconds())


def requeue(workload: Json, *, reason: str, message: str, now: str) -> Json:
    """What kept an evicted Workload out of the queue is over."""
    return _set(_status(workload), _condition(workload, REQUEUED, true=reason, message=message), now=now)


def target_deactivation(workload: Json, *, reason: str, message: str, now: str) -> Json:
    """The Workload is going to be deactivated for this reason."""
    condition = _condition(workload, DEACTIVATION_TARGET, true=reason, message=message)
    return _set(_status(workload), condition, now=now)


def finish(workload: Json, *, reason: str, message: str, now: str) -> Json:
    """The job has ended."""
    return _set(_status(workload), _condition(workload, FINISHED, true=reason, message=message), now=now)


def with_checks(workload: Json, names: Sequence[str], *, now: str) -> Json:
    """The admission checks of the queue: known ones as they are, new ones Pending, others gone."""
    have: Mapping[str, Json] = {c["name"]: c for c in _status(workload).get("admissionChecks") or ()}
    pending = {"state": "Pending", "message": "", "lastTransitionTime": now}
    checks = [have.get(name) or {"name": name, **pending} for name in names]
    status = _status(workload)
    status.pop("admissionChecks", None)
    return status | {"admissionChecks": checks} if checks else status
