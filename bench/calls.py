"""API calls by kind, counted at the servers. Pure."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from bench.tap import Request


class Kind(StrEnum):
    """What a call is for."""

    MUTATION = "mutation"
    TEXT = "text"
    """A change of a job's comments and of nothing else."""
    READ = "read"
    """Of one object, by its name."""
    POLL = "poll"
    """Of everything at once: a listing, a watch, a ping."""


@dataclass(slots=True)
class Calls:
    """Calls to one server, by kind and by what was called, as `POST job/{id}`."""

    counts: Counter[tuple[Kind, str]] = field(default_factory=Counter)

    def add(self, kind: Kind, what: str) -> None:
        """Count one."""
        self.counts[kind, what] += 1

    def of(self, kind: Kind) -> int:
        """How many of that kind."""
        return sum(count for (found, _), count in self.counts.items() if found is kind)

    @property
    def total(self) -> int:
        """All of them."""
        return self.counts.total()

    def since(self, before: Calls) -> Calls:
        """What came after `before`."""
        return Calls(self.counts - before.counts)

    def copy(self) -> Calls:
        """As it is now."""
        return Calls(self.counts.copy())

    def table(self) -> dict[str, dict[str, int]]:
        """For the report: kind, then what was called, the most frequent first."""
        found: dict[str, dict[str, int]] = {kind.value: {} for kind in Kind}
        for (kind, what), count in self.counts.most_common():
            found[kind][what] = count
        return found


_SLURM = re.compile(r"^/slurm/v[\d.]+/(?P<rest>.*?)/?$")
_SLURM_JOB = re.compile(r"^job/(?P<id>\d+)$")


def of_slurm(request: Request) -> tuple[Kind, str]:
    """A call to slurmrestd."""
    match = _SLURM.match(request.path)
    rest = match["rest"] if match else request.path
    what = re.sub(r"^(job|node)/(?!submit).+$", r"\1/{}", rest)
    if request.method != "GET":
        return Kind.MUTATION, f"{request.method} {what}"
    return (Kind.READ if what.endswith("/{}") else Kind.POLL), f"GET {what}"


def slurm_job(request: Request) -> int | None:
    """The id of the one job that a call to slurmrestd is about."""
    match = _SLURM.match(request.path)
    found = _SLURM_JOB.match(match["rest"]) if match else None
    return int(found["id"]) if found else None


_KUBE = re.compile(
    r"^/apis?/(?:[^/]+/)?v[^/]+/(?:namespaces/[^/]+/)?(?P<plural>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<sub>.+))?)?$"
)
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def of_kube(request: Request) -> tuple[Kind, str]:
    """A call to the Kubernetes API server."""
    match = _KUBE.match(request.path)
    if match is None:
        return Kind.POLL, f"{request.method} {request.path}"
    what = match["plural"] + (f"/{match['sub']}" if match["sub"] else "")
    if request.method in _VERBS:
        return Kind.MUTATION, f"{_VERBS[request.method]} {what}"
    if match["name"]:
        return Kind.READ, f"get {what}"
    watching = re.search(r"(^|&)watch=(1|true)", request.query, re.IGNORECASE)
    return Kind.POLL, f"{'watch' if watching else 'list'} {what}"
