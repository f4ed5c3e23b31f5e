"""A Ray cluster that teams share, as Kueue admits it; it stands while somebody needs it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import yaml

from testbed import node, ray_image
from testbed.control import kubectl
from testbed.places import HERE, WORKERS
from testbed.shell import until

NAMESPACE = "ray"
NAME = "shared"
_MANIFEST = HERE / "manifests/ray.yaml"
_DASHBOARD = 8265
_PATIENCE = 60.0
"""Seconds for a call: on a busy machine a head can take many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RayCluster:
    """The running cluster; `dashboard` is the URL of its jobs API, from the control plane's network."""

    dashboard: str

    def submit(self, entrypoint: str, **more: Any) -> str:
        """Run a command as a Ray job, as `ray job submit` does; its submission id."""
        answer = httpx.post(
            f"{self.dashboard}/api/jobs/", json={"entrypoint": entrypoint} | more, timeout=_PATIENCE
        )
        return str(answer.raise_for_status().json()["submission_id"])

    def job(self, submission_id: str) -> dict[str, Any]:
        """What the jobs API says of a job: `status`, `message` and more."""
        return dict(
            httpx.get(f"{self.dashboard}/api/jobs/{submission_id}", timeout=_PATIENCE)
            .raise_for_status()
            .json()
        )

    def stop(self, submission_id: str) -> None:
        """Ask for a job's end."""
        httpx.post(f"{self.dashboard}/api/jobs/{submission_id}/stop", timeout=_PATIENCE).raise_for_status()

    def logs(self, submission_id: str) -> str:
        """What a job's driver printed."""
        answer = httpx.get(f"{self.dashboard}/api/jobs/{submission_id}/logs", timeout=_PATIENCE)
        return str(answer.raise_for_status().json()["logs"])


def get(kind: str, name: str) -> dict[str, Any]:
    """One object of the cluster's namespace, or of none."""
    return dict(json.loads(kubectl("-n", NAMESPACE, "get", kind, name, "-o", "json")))


@contextmanager
def running(**environment: str) -> Iterator[RayCluster]:
    """The cluster with its head and its worker ready; afterwards it is gone, and so is its queue.

    `environment` is the head's.
    """
    with ThreadPoolExecutor() as at_once:
        archive = ray_image.archive()
        list(at_once.map(lambda number: node.import_image(number, archive, name=ray_image.NAME), WORKERS))
    _remove()
    try:
        kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(_documents(environment)))
        until("the Ray cluster is ready", _ready, seconds=600)
        yield RayCluster(
            dashboard=f"http://{get('raycluster', NAME)['status']['head']['podIP']}:{_DASHBOARD}"
        )
    finally:
        _remove()


def _documents(environment: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for document in yaml.safe_load_all(_MANIFEST.read_text()):
        if document["kind"] == "RayCluster":
            (head,) = document["spec"]["headGroupSpec"]["template"]["spec"]["containers"]
            head["env"] = [{"name": name, "value": value} for name, value in environment.items()]
        yield document


def _remove() -> None:
    kubectl("delete", "-f", _MANIFEST, "--ignore-not-found", "--timeout=90s")


def _ready() -> None:
    kubectl(
        "-n", NAMESPACE, "wait", "raycluster", NAME, "--for=condition=RayClusterProvisioned", "--timeout=2s"
    )
