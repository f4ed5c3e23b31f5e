"""Which work runs where it should not: on another job's workers, or off its own. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from k8s_bridge.ray.head import Placed, RayNode, Submission

_SUPERVISOR = "_ray_internal_job_actor_"
"""So the actor is called by which Ray watches a driver, before the submission id: it is where the driver is,
and belongs to a job of Ray's own."""


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
    token_of: Callable[[str], str],
) -> Iterator[Leak]:
    """All that is found. `token_of`: the token of the workers of a submission's job; "" when it has none."""
    homes = {node.node_id: node.token for node in nodes if node.alive}
    whose = {one.job_id: one.submission_id or "" for one in submissions if one.job_id}
    for work in placed:
        home = homes.get(work.node_id or "")
        if home is None or work.of_actor:
            continue
        driver = (work.name or "").startswith(_SUPERVISOR)
        submission = (work.name or "").removeprefix(_SUPERVISOR) if driver else whose.get(work.job_id, "")
        name, token = "driver" if driver else work.name or "", token_of(submission)
        if home and home != token:
            yield Leak(token=home, direction=Direction.IN, submission=submission, name=name)
        if token and home != token and not driver:  # a driver may be wanted on the head
            yield Leak(token=token, direction=Direction.OUT, submission=submission, name=name)
