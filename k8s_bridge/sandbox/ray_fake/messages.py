"""Ray's own words about jobs and nodes."""

from __future__ import annotations

from enum import StrEnum


class Death(StrEnum):
    """Why a node is no more, as the State API says it."""

    DRAINED = "Terminated due to preemption: Node received SIGTERM; draining before shutdown."
    LOST = "Unexpected termination: health check failed due to missing too many heartbeats"

    @property
    def of_actors(self) -> str:
        """The same, as the jobs of that node say it."""
        return _TO_ACTORS[self]


_TO_ACTORS = {
    Death.DRAINED: "preempted: Node received SIGTERM; draining before shutdown.",
    Death.LOST: "terminated unexpectedly: health check failed due to missing too many heartbeats",
}
_DEFAULTS = {
    "RUNNING": "Job is currently running.",
    "STOPPED": "Job was intentionally stopped.",
    "SUCCEEDED": "Job finished successfully.",
    "FAILED": "Job failed.",
}
_RESOURCES = " It may be waiting for resources (CPUs, GPUs, memory, custom resources) to become available."
_ENVIRONMENT = " It may be waiting for the runtime environment to be set up."
_TOO_LATE = (
    "Job supervisor actor failed to start within {seconds} seconds. This timeout can be configured by "
    "setting the environment variable RAY_JOB_START_TIMEOUT_SECONDS."
)
_TOO_LITTLE = (
    " This may be because the job entrypoint's specified resources (entrypoint_num_cpus, "
    "entrypoint_num_gpus, entrypoint_resources, entrypoint_memory)aren't available on the cluster. Try "
    "checking the cluster's available resources with `ray status` and specifying fewer resources for the "
    "job entrypoint."
)
_DIED = """\
Job supervisor actor died: The actor died unexpectedly before finishing this task.
\tclass_name: JobSupervisor
\tactor_id: {actor}
\tpid: 1
\tname: _ray_internal_job_actor_{job}
\tnamespace: SUPERVISOR_ACTOR_RAY_NAMESPACE
\tip: {ip}
The actor died because its node has died. Node Id: {node}
\tthe actor's node was {why}"""
TIMEOUT, DIED, ENTRYPOINT = (
    "JOB_SUPERVISOR_ACTOR_START_TIMEOUT",
    "JOB_SUPERVISOR_ACTOR_DIED",
    "JOB_ENTRYPOINT_COMMAND_ERROR",
)


def default_message(status: str, *, waits: bool, environment: bool) -> str:
    """What is said of a job that nothing more was noted of."""
    if status in _DEFAULTS:
        return _DEFAULTS[status]
    return "Job has not started yet." + _RESOURCES * waits + _ENVIRONMENT * environment


def start_timeout(seconds: float, *, amounts: bool) -> str:
    """A job that waited for too long."""
    return _TOO_LATE.format(seconds=seconds) + _TOO_LITTLE * amounts


def exited(code: int, log: str) -> str:
    """An entrypoint that failed."""
    head = f"Job entrypoint command failed with exit code {code}"
    return (
        f"{head}, last available logs (truncated to 20,000 chars):\n{log}"
        if log
        else f"{head}. No logs available."
    )


def node_died(*, job: str, actor: str, node: str, ip: str, why: str) -> str:
    """A job whose supervisor went down with its node."""
    return _DIED.format(job=job, actor=actor, node=node, ip=ip, why=why)


def not_terminal(submission_id: str, status: str) -> str:
    """A deletion that comes too early."""
    return f"Attempted to delete job '{submission_id}', but it is in a non-terminal state {status}."


def exists(submission_id: str) -> str:
    """A submission id that was given before."""
    return f"Job with submission_id {submission_id} already exists. Please use a different submission_id."


def unknown(job_id: str) -> str:
    """A job that the head has never heard of."""
    return f"Job {job_id} does not exist"
