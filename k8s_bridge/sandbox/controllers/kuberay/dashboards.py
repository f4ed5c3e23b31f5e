"""What KubeRay asks a Ray head."""

from __future__ import annotations

from typing import Protocol

from k8s_bridge.sandbox.apiserver.errors import Json


class Unreachable(Exception):
    """Nobody answers where the head should be."""


class Dashboards(Protocol):
    """The jobs APIs of all heads."""

    def job(self, namespace: str, cluster: str, job_id: str) -> Json | None:
        """A job as the jobs API shows it; None when the head does not know it. Raises Unreachable."""

    def submit(self, namespace: str, cluster: str, body: Json) -> None:
        """Submit a job. Raises Unreachable."""

    def stop_job(self, namespace: str, cluster: str, job_id: str) -> None:
        """Ask a job to stop, if it and its head are there."""
