"""One REST call under way: who asks what of which cluster, and which fault spoils it."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.requests import Request

from k8s_bridge.sandbox.slurm_fake.cluster import Cluster
from k8s_bridge.sandbox.slurm_fake.envelope import Envelope
from k8s_bridge.sandbox.slurm_fake.faults import Fault, FaultRule
from k8s_bridge.sandbox.slurm_fake.template import Template
from k8s_bridge.sandbox.slurm_fake.versions import records

Row = TypeVar("Row")


@dataclass(frozen=True, kw_only=True)
class Call:
    """The call. `user` is who it acts as, `body` its JSON."""

    cluster: Cluster
    envelope: Envelope
    version: str
    user: str
    body: Any
    request: Request
    rule: FaultRule | None

    @property
    def fault(self) -> Fault | None:
        """What spoils the answer."""
        return self.rule.fault if self.rule else None

    @property
    def staleness(self) -> float:
        """How many seconds a listing's last_update lies in the past."""
        return self.rule.seconds if self.rule and self.rule.fault is Fault.STALE else 0.0

    @property
    def job_template(self) -> Template:
        """The empty job record of this version."""
        return _template(self.version, "job")

    @property
    def node_template(self) -> Template:
        """The empty node record of this version."""
        return _template(self.version, "node")

    def query(self, name: str) -> str | None:
        """A query parameter."""
        return self.request.query_params.get(name)

    def queries(self, name: str) -> list[str]:
        """All values of a repeated query parameter."""
        return self.request.query_params.getlist(name)

    def spoiled(self, rows: Iterable[Row]) -> Iterable[Row]:
        """The rows of a listing, or none when that is the fault."""
        return () if self.fault is Fault.EMPTY_LIST else rows


@functools.cache
def _template(version: str, kind: str) -> Template:
    return Template(records(version)[kind])
