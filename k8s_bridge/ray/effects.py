"""Effects of the Ray bridge, as data, and the closed union that it executes."""

from __future__ import annotations

from dataclasses import dataclass

from k8s_bridge.core.effects import KubeEffect


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateWorkers:
    """Render and create the job's JobSet, suspended. `shape` is the digest of what was decided on."""

    shape: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Let a submitter go: Ray must know all `workers`, then the pod gets its pin and loses its gate.

    `pod` is the submitter's name, `version` its resource version; `token` is that of the workers.
    """

    pod: str
    version: str
    token: str
    workers: int
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LetPass:
    """Take our gate off a submitter that is none of our business."""

    pod: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopSubmission:
    """Stop a submission in Ray, and see it over: KubeRay leaves the old one running when it makes another."""

    job_id: str


Effect = KubeEffect | CreateWorkers | Release | LetPass | StopSubmission
