"""The paths of slurmrestd, as a table. A handler is given the last part: a job id or a node name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.responses import Response

from k8s_bridge.sandbox.slurm_fake import job_calls, node_calls
from k8s_bridge.sandbox.slurm_fake.call import Call

Handler = Callable[[Call, str], Response]
_ANY = "*"

_ROUTES: dict[tuple[str, ...], Handler] = {
    ("GET", "jobs"): job_calls.listing,
    ("GET", "jobs", "state"): job_calls.states,
    ("GET", "job", _ANY): job_calls.one,
    ("POST", "job", "submit"): job_calls.submit,
    ("POST", "job", _ANY): job_calls.update,
    ("DELETE", "job", _ANY): job_calls.cancel,
    ("DELETE", "jobs"): job_calls.cancel_many,
    ("GET", "nodes"): node_calls.listing,
    ("GET", "node", _ANY): node_calls.one,
    ("POST", "nodes"): node_calls.update_many,
    ("POST", "node", _ANY): node_calls.update,
    ("DELETE", "node", _ANY): node_calls.delete,
    ("GET", "partitions"): node_calls.partitions,
    ("GET", "partition", _ANY): node_calls.partition,
    ("GET", "reservations"): node_calls.nothing,
    ("GET", "licenses"): node_calls.nothing,
    ("GET", "reconfigure"): node_calls.nothing,
    ("GET", "diag"): node_calls.diag,
}


def find(method: str, parts: Sequence[str]) -> Handler | None:
    """Who answers a path, None when nobody does."""
    exact = (method, *parts)
    return _ROUTES.get(exact) or _ROUTES.get((*exact[:-1], _ANY))
