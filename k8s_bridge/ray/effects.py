"""Effects of the Ray bridge, as data, and the closed union that it executes."""

from __future__ import annotations

import msgspec

from k8s_bridge.core.effects import KubeEffect


class CreateWorkers(msgspec.Struct, frozen=True, kw_only=True):
    """Render and create the job's JobSet, suspended. `shape` is the digest of what was decided on."""

    shape: str


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """Let a submitter go: Ray must know all `workers`, then the pod gets its pin and loses its gate.

    `pod` is the submitter's name, `version` its resource version; `token` is that of the workers.
    """

    pod: str
    version: str
    token: str
    workers: int
    attempt: int


class LetPass(msgspec.Struct, frozen=True, kw_only=True):
    """Take our gate off a submitter that is none of our business."""

    pod: str
    version: str


class StopSubmission(msgspec.Struct, frozen=True, kw_only=True):
    """Stop a submission in Ray, and see it over: KubeRay leaves the old one running when it makes another."""

    job_id: str


Effect = KubeEffect | CreateWorkers | Release | LetPass | StopSubmission
