"""Ray's own words about jobs and nodes."""

from __future__ import annotations

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
HEALTH_CHECK_FAILED = "Health check failed due to missing too many heartbeats"
PREEMPTED = "The node was preempted."
TERMINATED = "Expected termination: received SIGTERM"
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


def node_died(node_id: str, why: str) -> str:
    """A job whose supervisor went down with its node."""
    return (
        "Job supervisor actor died: The actor died unexpectedly before finishing this task.\n"
        f"\tThe actor died because its node has died. Node Id: {node_id}\n\t{why}"
    )


def not_terminal(submission_id: str, status: str) -> str:
    """A deletion that comes too early."""
    return f"Attempted to delete job '{submission_id}', but it is in a non-terminal state {status}."


def exists(submission_id: str) -> str:
    """A submission id that was given before."""
    return f"Job with submission_id {submission_id} already exists. Please use a different submission_id."


def unknown(job_id: str) -> str:
    """A job that the head has never heard of."""
    return f"Job {job_id} does not exist"
