"""A Ray cluster's nodes and jobs. Data, and what follows from it."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.ray_fake.messages import Death, default_message

OF_THE_HEAD = "01000000"
"""The job that supervisors belong to: the head's own driver."""


class NodeState(StrEnum):
    """As the State API says."""

    ALIVE = "ALIVE"
    DEAD = "DEAD"


class JobStatus(StrEnum):
    """As the jobs API says."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    STOPPED = "STOPPED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"

    @property
    def terminal(self) -> bool:
        """Whether it never changes again."""
        return self not in (JobStatus.PENDING, JobStatus.RUNNING)


@dataclass(slots=True, eq=False, kw_only=True)
class RayNode:
    """One raylet. Times are seconds since the epoch."""

    node_id: str
    ip: str
    head: bool
    total: Mapping[str, float]
    labels: Mapping[str, str]
    started: float
    state: NodeState = NodeState.ALIVE
    death: Death | None = None
    ended: float | None = None
    draining: bool = False
    used: Counter[str] = field(default_factory=Counter)
    silent: asyncio.Event = field(default_factory=asyncio.Event)
    """Its process is gone; the head may not have noticed yet."""
    dead: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def open(self) -> bool:
        """Whether new work may start here."""
        return self.state is NodeState.ALIVE and not self.draining


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What an entrypoint asks for: amounts by Ray's names, and labels of the node."""

    amounts: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def specified(self) -> bool:
        """Whether anything is asked for; what asks for nothing runs on the head."""
        return bool(self.amounts or self.labels)

    def fits(self, node: RayNode) -> bool:
        """Whether the node is open, has the labels, and has the amounts left."""
        if not self.specified:
            return node.open and node.head
        named = all(node.labels.get(name) == value for name, value in self.labels.items())
        left = (node.total.get(name, 0.0) - node.used[name] for name in self.amounts)
        enough = all(have + 1e-9 >= want for have, want in zip(left, self.amounts.values(), strict=True))
        return node.open and named and enough


@dataclass(slots=True, eq=False, kw_only=True)
class RayJob:
    """One submission. `node`: where its supervisor is, or was; `ran`: its entrypoint was started there.

    `driver`: the id of the driver, if the entrypoint has connected to the cluster.
    """

    submission_id: str
    entrypoint: str
    demand: Demand
    started: float
    metadata: Mapping[str, str] | None = None
    runtime_env: Mapping[str, Any] | None = None
    status: JobStatus = JobStatus.PENDING
    message: str | None = None
    error_type: str | None = None
    ended: float | None = None
    exit_code: int | None = None
    node: RayNode | None = None
    ran: bool = False
    driver: str | None = None
    log: str = ""
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    placed: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def actor(self) -> str:
        """The id of its supervisor."""
        return hashlib.sha256(self.submission_id.encode()).hexdigest()[:24] + OF_THE_HEAD

    @property
    def supervised(self) -> bool:
        """Whether its supervisor exists, and hears a stop."""
        return not self.status.terminal

    @property
    def said(self) -> str:
        """The message that people see."""
        waits = bool(self.demand.amounts)
        return self.message or default_message(self.status, waits=waits, environment=bool(self.runtime_env))


def demand_of(body: Json) -> Demand:
    """What a submission asks for."""
    single = {
        "CPU": body.get("entrypoint_num_cpus"),
        "GPU": body.get("entrypoint_num_gpus"),
        "memory": body.get("entrypoint_memory"),
    }
    amounts = single | (body.get("entrypoint_resources") or {})
    wanted = {name: float(amount) for name, amount in amounts.items() if amount}
    return Demand(amounts=wanted, labels=body.get("entrypoint_label_selector") or {})
