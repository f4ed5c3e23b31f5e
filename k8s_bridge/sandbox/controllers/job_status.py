"""What the pods of a Job say about the Job. Pure: `now` is seconds since the epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.clock import parse_stamp
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers import job_render as render
from k8s_bridge.sandbox.controllers.api import is_deleted

SUCCESS = "SuccessCriteriaMet"
FAILURE = "FailureTarget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A Job's fate: the type of the condition that announces it, reason and message."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Pods by what they are to the Job. `fresh_*`: ended and not yet in the status."""

    active: tuple[Json, ...] = ()
    terminating: tuple[Json, ...] = ()
    fresh_succeeded: tuple[Json, ...] = ()
    fresh_failed: tuple[Json, ...] = ()
    indexes: frozenset[int] = field(default_factory=frozenset)


def tally(job: Json, pods: Sequence[Json], *, now: float, patience: float) -> Tally:
    """Sort the pods. One that is to go counts as failed after `patience` seconds (forced: at once)."""
    done = render.parse_indexes((job.get("status") or {}).get("completedIndexes", ""))
    fresh = [p for p in pods if render.is_tracked(p) and not _is_noted(job, p, done)]
    late = {p["metadata"]["uid"] for p in pods if _is_late(p, now=now, patience=patience)}
    by_deletion = job["spec"]["podReplacementPolicy"] == "TerminatingOrFailed"
    alive = [p for p in pods if render.phase(p) not in ("Succeeded", "Failed")]
    succeeded = tuple(p for p in fresh if render.phase(p) == "Succeeded")
    return Tally(
        active=tuple(
            p
            for p in alive
            if not is_deleted(p) or (render.is_tracked(p) and p["metadata"]["uid"] not in late)
        ),
        terminating=tuple(p for p in alive if is_deleted(p)),
        fresh_succeeded=succeeded,
        fresh_failed=tuple(
            p
            for p in fresh
            if render.phase(p) == "Failed" or (by_deletion and p["metadata"]["uid"] in late and p in alive)
        ),
        indexes=frozenset(done | {render.index_of(p) for p in succeeded}),
    )


def _is_noted(job: Json, pod: Json, done: set[int]) -> bool:
    if any(pod["metadata"]["uid"] in uids for uids in _uncounted(job).values()):
        return True
    return render.is_indexed(job) and render.phase(pod) == "Succeeded" and render.index_of(pod) in done


def _is_late(pod: Json, *, now: float, patience: float) -> bool:
    if not is_deleted(pod):
        return False
    meta = pod["metadata"]
    grace = meta.get("deletionGracePeriodSeconds", 0)
    asked = parse_stamp(meta["deletionTimestamp"]).timestamp() - grace
    return bool(grace == 0 or now - asked >= patience)


def _uncounted(job: Json) -> dict[str, list[str]]:
    found: dict[str, list[str]] = (job.get("status") or {}).get("uncountedTerminatedPods") or {}
    return found


def announced(job: Json) -> Verdict | None:
    """The fate that the status already tells."""
    for type_ in (SUCCESS, FAILURE):
        found = conditions.find(job, type_)
        if found:
            return Verdict(type=type_, reason=found["reason"], message=found["message"])
    return None


def verdict(job: Json, counted: Tally, *, now: float) -> Verdict | None:
    """The fate that follows from the pods, if one does."""
    return _by_policy(job, counted) or _by_success(job, counted) or _by_limits(job, counted, now=now)


def _by_policy(job: Json, counted: Tally) -> Verdict | None:
    for pod in counted.fresh_failed:
        action, text = render.failure_action(job, pod)
        if action == render.Action.FAIL_JOB:
            return Verdict(type=FAILURE, reason="PodFailurePolicy", message=text)
    return None


def _by_success(job: Json, counted: Tally) -> Verdict | None:
    status = job.get("status") or {}
    done = len(counted.indexes) if render.is_indexed(job) else status.get("succeeded", 0)
    if not render.is_indexed(job):
        done += len(_uncounted(job).get("succeeded", ())) + len(counted.fresh_succeeded)
    if done < job["spec"]["completions"]:
        return None
    text = "Reached expected number of succeeded pods"
    return Verdict(type=SUCCESS, reason="CompletionsReached", message=text)


def _by_limits(job: Json, counted: Tally, *, now: float) -> Verdict | None:
    status, spec = job.get("status") or {}, job["spec"]
    failures = status.get("failed", 0) + len(_uncounted(job).get("failed", ()))
    failures += len(countable(job, counted.fresh_failed))
    if failures > spec["backoffLimit"]:
        text = "Job has reached the specified backoff limit"
        return Verdict(type=FAILURE, reason="BackoffLimitExceeded", message=text)
    left = deadline(job, now=now)
    if left is not None and left <= 0:
        text = "Job was active longer than specified deadline"
        return Verdict(type=FAILURE, reason="DeadlineExceeded", message=text)
    return None


def deadline(job: Json, *, now: float) -> float | None:
    """Seconds until activeDeadlineSeconds have passed; None without a deadline or a start."""
    limit, start = job["spec"].get("activeDeadlineSeconds"), (job.get("status") or {}).get("startTime")
    return None if limit is None or not start else parse_stamp(start).timestamp() + limit - now


def countable(job: Json, failed: Sequence[Json]) -> list[Json]:
    """Those failures that the podFailurePolicy does not ignore."""
    return [p for p in failed if render.failure_action(job, p)[0] != render.Action.IGNORE]


def noted(job: Json, counted: Tally) -> Json:
    """The status with the fresh pods noted: indexes at once, everything else as uncounted for now."""
    status = dict(job.get("status") or {})
    uncounted = {key: list(uids) for key, uids in _uncounted(job).items()}
    if render.is_indexed(job) and counted.indexes:
        status |= {
            "completedIndexes": render.indexes_text(counted.indexes),
            "succeeded": len(counted.indexes),
        }
    elif counted.fresh_succeeded:
        uncounted.setdefault("succeeded", []).extend(p["metadata"]["uid"] for p in counted.fresh_succeeded)
    if bad := countable(job, counted.fresh_failed):
        uncounted.setdefault("failed", []).extend(p["metadata"]["uid"] for p in bad)
    return live(status | {"uncountedTerminatedPods": uncounted}, counted)


def settled(job: Json) -> Json:
    """The status once the pods noted as uncounted are released: they are in the sums now."""
    status = dict(job.get("status") or {})
    for key, uids in _uncounted(job).items():
        status[key] = status.get(key, 0) + len(uids)
    return status | {"uncountedTerminatedPods": {}}


def live(status: Json, counted: Tally) -> Json:
    """The status with the numbers about running pods; `active` is left out when it is 0."""
    failed = {p["metadata"]["uid"] for p in counted.fresh_failed}
    active = [p for p in counted.active if p["metadata"]["uid"] not in failed]
    going = [p for p in counted.terminating if p not in active]
    rest = {key: value for key, value in status.items() if key != "active"}
    numbers = {"ready": sum(render.is_ready(p) for p in active), "terminating": len(going)}
    return rest | numbers | ({"active": len(active)} if active else {})
