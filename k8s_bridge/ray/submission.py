"""With what a job is given to Ray: its pin, and the environment of its processes. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from api.ray_views import RayJob
from api.v1alpha1.ray import Confinement, DriverPlacement, RaySpec
from k8s_bridge.ray import names, shim
from k8s_bridge.ray.given import resources_of, runtime_env_of
from k8s_bridge.ray.workers.command import SHIM_FOLDER

_PIN = 0.001
"""So little that a thousand drivers fit one worker: the pin says where, not how many."""
ATTEMPT = "RAY_BRIDGE_ATTEMPT"
"""Environment of the job's processes: 1 at its first run, one more after each requeue."""


def options(job: RayJob, *, spec: RaySpec, token: str, attempt: int) -> dict[str, str]:
    """Annotations of the submitter, from which its `ray job submit` is given its options."""
    pinned = spec.confinement is not Confinement.NONE and spec.driver_placement is DriverPlacement.WORKER
    resources = resources_of(job) | ({names.pin(token): _PIN} if pinned else {})
    environment = {ATTEMPT: str(attempt)}
    if spec.confinement is Confinement.LABELS:
        environment |= {shim.VARIABLE: token}
    return {
        names.RESOURCES: json.dumps(resources),
        names.RUNTIME_ENV: json.dumps(_runtime_env(job, environment)),
    }


def _runtime_env(job: RayJob, environment: Mapping[str, str]) -> dict[str, Any]:
    theirs = runtime_env_of(job)
    variables = {**(theirs.get("env_vars") or {}), **environment}
    if shim.VARIABLE in environment:
        before = variables.get("PYTHONPATH", "${PYTHONPATH}")
        variables["PYTHONPATH"] = f"{SHIM_FOLDER}:{before}"
    return {**theirs, "env_vars": variables}
