"""What a delete request makes of an object. Pure: the present is an argument."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import Kind, Propagation
from k8s_bridge.sandbox.clock import parse_stamp, stamp

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """`marked` is stored first where it differs from what is there; then the object goes if `gone`."""

    marked: Json
    gone: bool


def deletion(
    kind: Kind, obj: Json, *, now: datetime, propagation: Propagation | None, grace: int | None
) -> Deletion:
    """Decide on a delete request; `propagation` None means what the object or its kind has by default."""
    meta = dict(obj["metadata"])
    _set_finalizers(meta, _finalizers(kind, meta, propagation))
    if kind.graceful:
        _mark_gracefully(obj, meta, now=now, grace=grace)
    elif meta.get("finalizers") and "deletionTimestamp" not in meta:
        _mark(meta, at=now, grace=0)
    marked = obj if meta == obj["metadata"] else obj | {"metadata": meta}
    return Deletion(marked=marked, gone=is_finished(meta, graceful=kind.graceful))


def is_finished(meta: Json, *, graceful: bool) -> bool:
    """Whether nothing holds a deleted object any more: no finalizer, no grace left to its kubelet."""
    if meta.get("finalizers"):
        return False
    return not graceful or meta.get("deletionGracePeriodSeconds") == 0


def _finalizers(kind: Kind, meta: Json, propagation: Propagation | None) -> list[str]:
    have = list(meta.get("finalizers") or ())
    if propagation is None:
        if FOREGROUND in have or ORPHAN in have:
            return have
        propagation = kind.propagation
    kept = [name for name in have if name not in (FOREGROUND, ORPHAN)]
    match propagation:
        case Propagation.FOREGROUND:
            return [*kept, FOREGROUND]
        case Propagation.ORPHAN:
            return [*kept, ORPHAN]
        case Propagation.BACKGROUND:
            return kept


def _set_finalizers(meta: Json, finalizers: list[str]) -> None:
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)


def _mark(meta: Json, *, at: datetime, grace: int) -> None:
    meta["deletionTimestamp"] = stamp(at)
    meta["deletionGracePeriodSeconds"] = grace
    if meta.get("generation"):
        meta["generation"] += 1


def _mark_gracefully(obj: Json, meta: Json, *, now: datetime, grace: int | None) -> None:
    if "deletionTimestamp" not in meta:
        period = _period(obj, grace)
        _mark(meta, at=now + timedelta(seconds=period), grace=period)
    elif grace is not None and grace < (had := meta["deletionGracePeriodSeconds"]):
        shortened = parse_stamp(meta["deletionTimestamp"]) + timedelta(seconds=grace - had)
        meta["deletionTimestamp"] = stamp(max(shortened, now))
        meta["deletionGracePeriodSeconds"] = grace


def _period(pod: Json, grace: int | None) -> int:
    """The grace of a pod: none if no kubelet would end it or it has ended (registry/core/pod strategy)."""
    spec, phase = pod.get("spec") or {}, (pod.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    return int(spec.get("terminationGracePeriodSeconds", 30) if grace is None else grace)
