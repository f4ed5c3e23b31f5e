"""The status of a RayJob at each of its steps. Pure: times are metav1.Time or seconds since the epoch."""

from __future__ import annotations

from datetime import UTC, datetime

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.clock import parse_stamp, stamp
from k8s_bridge.sandbox.controllers import conditions

NO_CLUSTER: Json = {"desiredCPU": "0", "desiredGPU": "0", "desiredMemory": "0", "desiredTPU": "0"}
TERMINAL = ("SUCCEEDED", "FAILED", "STOPPED")
_KEPT_BY_RESET = ("failed", "succeeded", "startTime")
_UNCOUNTED = ("lastUpdateTime", "observedGeneration", "stateTransitionTimes")
_NOT_TERMINAL = (
    "JobDeploymentStatus does not transition to Complete or Failed within the grace period after JobStatus "
    "reaches a terminal state."
)
_COARSE = 1.0  # times of the API are whole seconds
GRACE_EXCEEDED = "JobDeploymentStatusTransitionGracePeriodExceeded"


def deployment(job: Json) -> str:
    """The jobDeploymentStatus; "" before the first."""
    return str((job.get("status") or {}).get("jobDeploymentStatus", ""))


def begun(job: Json, *, job_id: str, cluster: str, now: str) -> Json:
    """Initializing."""
    told = {"jobDeploymentStatus": "Initializing", "rayClusterName": cluster, "startTime": now}
    return _old(job) | ({"jobId": job_id} if job_id else {}) | told


def reset(job: Json, *, deployment_status: str) -> Json:
    """Nothing is left of the attempt."""
    kept = {name: value for name, value in _old(job).items() if name in _KEPT_BY_RESET}
    return kept | ({"jobDeploymentStatus": deployment_status} if deployment_status else {})


def failed(job: Json, reason: str, message: str, **more: str) -> Json:
    """Failed."""
    told = {"jobDeploymentStatus": "Failed", "reason": reason, "message": message}
    return _old(job) | told | more


def followed(job: Json, info: Json, cluster: Json, *, submitted: bool) -> Json:
    """What the head says of the job. `submitted`: there is no submitter (any more) to wait for."""
    status = str(info["status"])
    new = {k: v for k, v in _old(job).items() if k != "reason"}
    new |= {
        "jobStatus": status,
        "message": info.get("message") or "",
        "rayClusterStatus": cluster.get("status"),
    }
    new["jobDeploymentStatus"] = "Running"
    if status in TERMINAL and submitted:
        new["jobDeploymentStatus"] = "Failed" if status == "FAILED" else "Complete"
        new |= {"reason": "AppFailed"} if status == "FAILED" else {}
    if times := _times(info):
        new["rayJobInfo"] = times
    return new


def _times(info: Json) -> dict[str, str]:
    fields = {"startTime": info.get("start_time"), "endTime": info.get("end_time")}
    return {name: stamp(datetime.fromtimestamp(ms / 1000, UTC)) for name, ms in fields.items() if ms}


def overdue(job: Json, *, now: float) -> Json | None:
    """Failed, when its activeDeadlineSeconds have passed since the start of the attempt."""
    limit = job["spec"].get("activeDeadlineSeconds")
    since = _old(job).get("startTime")
    if limit is None or since is None or now < parse_stamp(since).timestamp() + limit:
        return None
    text = "The RayJob has passed the activeDeadlineSeconds. "
    text += f"StartTime: {_go_time(since)}. ActiveDeadlineSeconds: {limit}"
    return failed(job, "DeadlineExceeded", text)


def stuck(job: Json, *, now: float, patience: float) -> Json | None:
    """Complete or Failed, when the job has been over for long and its submitter is not."""
    status = _old(job)
    ended = (status.get("rayJobInfo") or {}).get("endTime")
    if status.get("jobStatus") not in TERMINAL or ended is None:
        return None
    if now < parse_stamp(ended).timestamp() + patience:
        return None
    outcome = "Failed" if status["jobStatus"] == "FAILED" else "Complete"
    return status | {"jobDeploymentStatus": outcome, "reason": GRACE_EXCEEDED, "message": _NOT_TERMINAL}


def submitter_verdict(job: Json, submitter: Json, *, now: float, patience: float) -> Json | None:
    """Failed, when the submitter has failed, or has ended long before its job."""
    ended = _ended(submitter)
    if ended and now >= parse_stamp(ended["lastTransitionTime"]).timestamp() + _COARSE + patience:
        when = parse_stamp(ended["lastTransitionTime"]).strftime("%Y-%m-%d %H:%M:%S")
        text = (
            f"The RayJob submitter finished at {when} but the ray job did not reach terminal state within 30s"
        )
        return failed(job, GRACE_EXCEEDED, text, jobStatus="FAILED")
    if not ended or ended["type"] != "Failed":
        return None
    if _old(job).get("jobStatus") == "FAILED":
        return failed(job, "AppFailed", str(_old(job).get("message", "")))
    text = f"Job submission has failed. Reason: {ended['reason']}. Message: {ended['message']}"
    return failed(job, "SubmissionFailed", text)


def has_ended(submitter: Json) -> bool:
    """Whether the submitter Job is over."""
    return _ended(submitter) is not None


def _ended(submitter: Json) -> Json | None:
    found = (conditions.find(submitter, type_) for type_ in ("Complete", "Failed"))
    return next((c for c in found if c and c["status"] == "True"), None)


def complete(job: Json, new: Json, *, now: str) -> Json | None:
    """`new` as it is written, with its counts; None when nothing has changed that is ever written."""
    old = _old(job)
    same = all(new.get(name, "") == old.get(name, "") for name in ("jobStatus", "jobDeploymentStatus"))
    if same and _substance(new) == _substance(old):
        return None
    outcome = new.get("jobDeploymentStatus")
    counts = {"failed": old.get("failed", 0), "succeeded": old.get("succeeded", 0)}
    counts["failed"] += outcome == "Failed"
    counts["succeeded"] += outcome == "Complete" and new.get("jobStatus") == "SUCCEEDED"
    ended = {"endTime": now} if outcome in ("Complete", "Failed") else {}
    return {"rayClusterStatus": NO_CLUSTER} | new | counts | ended


def _substance(status: Json) -> Json:
    cluster = status.get("rayClusterStatus") or NO_CLUSTER
    return {name: value for name, value in cluster.items() if name not in _UNCOUNTED}


def _old(job: Json) -> Json:
    return job.get("status") or {}


def _go_time(text: str) -> str:
    return parse_stamp(text).strftime("%Y-%m-%d %H:%M:%S +0000 UTC")
