"""Rows of Ray's APIs, in Ray's field names. Pure."""

from __future__ import annotations

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.ray_fake.model import OF_THE_HEAD, JobStatus, RayJob, RayNode

_AGENT_PORT = 52365
_SUPERVISORS = "SUPERVISOR_ACTOR_RAY_NAMESPACE"


def details(job: RayJob) -> Json:
    """A job of the jobs API."""
    ran = job.node if job.ran else None
    driver = {"id": job.driver, "node_ip_address": ran.ip, "pid": "1"} if ran and job.driver else None
    return {
        "type": "SUBMISSION",
        "job_id": job.driver,
        "submission_id": job.submission_id,
        "driver_info": driver,
        "status": job.status.value,
        "entrypoint": job.entrypoint,
        "message": job.said,
        "error_type": job.error_type,
        "start_time": _milliseconds(job.started),
        "end_time": _milliseconds(job.ended),
        "metadata": job.metadata,
        "runtime_env": job.runtime_env,
        "driver_agent_http_address": f"http://{ran.ip}:{_AGENT_PORT}" if ran else None,
        "driver_node_id": ran.node_id if ran else None,
        "driver_exit_code": job.exit_code,
    }


def node(found: RayNode) -> Json:
    """A node of the State API."""
    return {
        "node_id": found.node_id,
        "node_ip": found.ip,
        "is_head_node": found.head,
        "state": found.state.value,
        "state_message": found.death,
        "node_name": found.ip,
        "resources_total": _offered(found),
        "labels": dict(found.labels),
        "start_time_ms": _milliseconds(found.started),
        "end_time_ms": _milliseconds(found.ended) or 0,
    }


def _offered(found: RayNode) -> Json:
    marks = {f"node:{found.ip}": 1.0} | ({"node:__internal_head__": 1.0} if found.head else {})
    return dict(found.total) | marks


def supervisor(job: RayJob) -> Json:
    """The actor that stands for a submission. It belongs to the head's own driver, not to the job's."""
    states = {JobStatus.PENDING: "PENDING_CREATION", JobStatus.RUNNING: "ALIVE"}
    placed = job.node if job.ran else None
    return {
        "actor_id": job.actor,
        "class_name": "JobSupervisor",
        "state": states.get(job.status, "DEAD"),
        "job_id": OF_THE_HEAD,
        "name": f"_ray_internal_job_actor_{job.submission_id}",
        "node_id": placed.node_id if placed else None,
        "pid": 1 if placed else 0,
        "ray_namespace": _SUPERVISORS,
    }


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * 1000)
