"""What an inner RayJob asks for: its annotations, read with reasons. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from api.ray_views import RayJob
from api.v1alpha1.quantity import parse_memory
from api.v1alpha1.ray import PoolMapping, RaySpec
from k8s_bridge.ray import names
from k8s_bridge.ray.given import resources_of, runtime_env_of

T = TypeVar("T")

_LONGEST_NAME = 47
"""KubeRay's own bound for a RayJob."""
_LABEL_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_CPUS = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,3})?|[0-9]{1,8}m)")
_WHOLE = re.compile(r"[0-9]{1,6}")
_MODES = frozenset({"K8sJobMode", "HTTPMode"})

INVALID = "InvalidSpec"
UNMANAGED_POOL = "UnmanagedPool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Workers of one job. `cpus` are millicores of one worker, `memory` MiB of one worker."""

    workers: int
    cpus: int
    gpus: int
    memory: int
    queue: str
    priority_class: str
    pool: str
    required_topology: str = ""
    max_requeues: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why the job gets no workers. `reason` is one CamelCase word."""

    reason: str
    text: str


class _Malformed(ValueError):
    """An annotation that cannot be read; the text says which and why."""


def request_of(job: RayJob, *, spec: RaySpec) -> Request | Refusal:
    """What the job asks for, or the first reason why it cannot be had."""
    trouble = _trouble(job)
    if trouble:
        return Refusal(reason=INVALID, text=trouble)
    given = job.metadata.annotations
    name = given.get(names.POOL, names.DEFAULT_POOL)
    pool = next((pool for pool in spec.pool_mappings if pool.pool == name), None)
    if pool is None:
        known = ", ".join(pool.pool for pool in spec.pool_mappings)
        return Refusal(reason=UNMANAGED_POOL, text=f"pool {name!r} is not among the poolMappings: {known}")
    try:
        request = _read(given, pool, spec)
    except _Malformed as error:
        return Refusal(reason=INVALID, text=str(error))
    if pool.max_workers and request.workers > pool.max_workers:
        text = (
            f"{request.workers} workers are more than the {pool.max_workers} that pool {name} allows one job"
        )
        return Refusal(reason=INVALID, text=text)
    return request


def _trouble(job: RayJob) -> str:
    spec = job.spec
    if len(job.metadata.name) > _LONGEST_NAME:
        return f"its name has more than {_LONGEST_NAME} characters, which KubeRay refuses"
    if job.metadata.annotations.get(names.ACCEPTED) == "suspended" or spec.suspend:
        return "suspend: KubeRay does not suspend a job of a shared cluster; create it when it may run"
    if spec.backoff_limit:
        return "backoffLimit: KubeRay retries only with a cluster of its own; the bridge requeues by itself"
    if spec.submission_mode not in _MODES:
        return f"submissionMode {spec.submission_mode} cannot be held; use K8sJobMode"
    try:
        resources_of(job)
        runtime_env_of(job)
    except ValueError as error:
        return str(error)
    return ""


def _read(given: Mapping[str, str], pool: PoolMapping, spec: RaySpec) -> Request:
    worker = spec.worker
    default_cpus = round(worker.default_cpus * 1000)
    requeues = _value(given, names.MAX_REQUEUES, _whole, spec.max_requeues)
    return Request(
        workers=_value(given, names.WORKERS, _positive, worker.default_workers),
        cpus=_value(given, names.WORKER_CPUS, _millicores, default_cpus),
        gpus=_value(given, names.WORKER_GPUS, _whole, 0),
        memory=_value(given, names.WORKER_MEMORY, _mebibytes, worker.default_memory_mb),
        queue=_value(given, names.LOCAL_QUEUE, _dns_name, pool.local_queue or spec.local_queue),
        priority_class=pool.workload_priority_class,
        pool=pool.pool,
        required_topology=_value(given, names.REQUIRED_TOPOLOGY, _label_key, ""),
        max_requeues=min(requeues, spec.max_requeues),
    )


def _value(given: Mapping[str, str], key: str, read: Callable[[str], T], default: T) -> T:
    text = given.get(key)
    if text is None:
        return default
    try:
        return read(text)
    except ValueError as error:
        raise _Malformed(f"annotation {key}: {error}") from error


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _positive(text: str) -> int:
    if not (number := _whole(text)):
        raise ValueError("at least 1 is needed")
    return number


def _millicores(text: str) -> int:
    if not _CPUS.fullmatch(text):
        raise ValueError(f"{text!r} is not a number of CPUs such as 2, 0.5 or 500m")
    cores = Fraction(text[:-1]) if text.endswith("m") else Fraction(text) * 1000
    if not cores:
        raise ValueError("a worker needs CPU")
    return int(cores)


def _mebibytes(text: str) -> int:
    """A quantity such as 2Gi; a bare number is MiB, as in the configuration."""
    memory = int(text) if _WHOLE.fullmatch(text) else parse_memory(text)
    if not memory:
        raise ValueError("a worker needs memory")
    return memory


def _dns_name(text: str) -> str:
    if not _DNS_NAME.fullmatch(text):
        raise ValueError(f"{text!r} is not the name of a LocalQueue")
    return text


def _label_key(text: str) -> str:
    if not _LABEL_KEY.fullmatch(text):
        raise ValueError(f"{text!r} is not the label of a topology level")
    return text
