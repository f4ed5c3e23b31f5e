"""What is asked of a job at admission: cases for the real API server and for the sandbox's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Refusal(NamedTuple):
    """A job that is not let in; `said` is part of the answer."""

    said: str
    notes: Mapping[str, str] = {}
    spec: Mapping[str, Any] = {}
    name: str = "bad"


REFUSALS: Mapping[str, Refusal] = {
    "suspended": Refusal("suspend", spec={"suspend": True, "shutdownAfterJobFinishes": True}),
    "retried by KubeRay": Refusal("backoffLimit", spec={"backoffLimit": 1}),
    "submitted by a sidecar": Refusal("submissionMode", spec={"submissionMode": "SidecarMode"}),
    "a name that KubeRay refuses": Refusal("47 characters", name="n" * 63),
    "no such pool": Refusal("UnmanagedPool", notes={"pool": "nosuch"}),
    "more workers than the pool has for one": Refusal("allows one job", notes={"workers": "99"}),
    "workers that are no number": Refusal("workers", notes={"workers": "many"}),
    "no workers": Refusal("workers", notes={"workers": "0"}),
    "CPUs that are no number": Refusal("worker-cpus", notes={"worker-cpus": "fast"}),
    "GPUs that are no number": Refusal("worker-gpus", notes={"worker-gpus": "-1"}),
    "memory that is no size": Refusal("worker-memory", notes={"worker-memory": "lots"}),
    "requeues that are no number": Refusal("max-requeues", notes={"max-requeues": "ever"}),
}
FROZEN: Mapping[str, Mapping[str, Any]] = {
    "the entrypoint": {"spec": {"entrypoint": "python3 other.py"}},
    "the cluster": {"spec": {"clusterSelector": {"ray.io/cluster": "other"}}},
    "the number of workers": {"metadata": {"annotations": {"ray-bridge.x-k8s.io/workers": "3"}}},
    "the runtime environment": {"spec": {"runtimeEnvYAML": "pip: [emoji]"}},
}
"""Changes that are refused once a job is there."""
