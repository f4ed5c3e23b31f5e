"""Which work runs where it should not: on another job's workers, or off its own. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from k8s_bridge.ray.head import Placed, RayNode, Submission

_RAYS_OWN = "JobSupervisor"
"""The actor by which Ray watches a driver; it runs where the driver runs, and belongs to nobody's job."""


class Direction(StrEnum):
    """Which way work leaked."""

    IN = "in"
    """Somebody else's runs on a job's workers."""
    OUT = "out"
    """A job's own runs elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """One task or actor. `token` is that of the job that it concerns; `submission` is whose work it is."""

    token: str
    direction: Direction
    submission: str
    """"" when no submission of Ray's jobs API is behind it."""
    name: str


def leaks(
    *,
    nodes: Iterable[RayNode],
    submissions: Iterable[Submission],
    placed: Iterable[Placed],
    owners: Mapping[str, str],
) -> Iterator[Leak]:
    """All that is found. `owners`: submission id -> token of its workers, of each job that was let go."""
    homes = {node.node_id: node.token for node in nodes if node.alive}
    whose = {one.job_id: one.submission_id or "" for one in submissions if one.job_id}
    for work in placed:
        home = homes.get(work.node_id or "")
        if home is None or work.name == _RAYS_OWN:
            continue
        submission = whose.get(work.job_id, "")
        token = owners.get(submission, "")
        if home and home != token:
            yield Leak(token=home, direction=Direction.IN, submission=submission, name=work.name or "")
        if token and home != token:
            yield Leak(token=token, direction=Direction.OUT, submission=submission, name=work.name or "")
