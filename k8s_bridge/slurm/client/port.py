"""What a Slurm client offers to the poller and to the executor of effects.

`SlurmClient` is the real one. Everything raises only Retry, Conflict, Terminal and Missing of core.errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from k8s_bridge.slurm.client.results import Glance, License, Listing, Partition, Unchanged
from k8s_bridge.slurm.client.update import JobUpdate, NodeState
from k8s_bridge.slurm.model import Job, Node, Ping, Reservation


class SlurmReads(Protocol):
    """The questions."""

    async def ping(self) -> Ping:
        """Who answers. Negotiates the API version; a good answer says nothing about the token."""
        ...

    async def jobs(self, since: int | None = None) -> Listing[Job] | Unchanged:
        """All jobs, or Unchanged when nothing changed after `since` (a `last_update` less one second)."""
        ...

    async def job_states(self) -> Mapping[int, Glance] | None:
        """State and array tasks of every job, cheaply; None when the API version has no such question.

        The very object of the last time when no state changed.
        """
        ...

    async def job(self, job_id: int) -> Job:
        """One job. Missing only when slurmctld itself says that there is no such id."""
        ...

    async def nodes(self, since: int | None = None) -> Listing[Node] | Unchanged:
        """All nodes, or Unchanged when nothing changed after `since`."""
        ...

    async def partitions(self) -> tuple[Partition, ...]:
        """All partitions."""
        ...

    async def licenses(self) -> tuple[License, ...]:
        """All licenses, with how many are free now."""
        ...

    async def reservations(self) -> tuple[Reservation, ...]:
        """All reservations."""
        ...


class SlurmWrites(Protocol):
    """The commands. All are idempotent."""

    async def update_job(self, job_id: int, update: JobUpdate) -> None:
        """Change a job. Missing when there is none of that id."""
        ...

    async def cancel(self, job_id: int, signal: str | None = None, *, task: int | None = None) -> None:
        """Cancel, or send a signal to the steps; of a job array with `task` only that one.

        No signal is sent where Slurm would send it to the job's script too (before 23.11). A job that is over
        already is success; an unknown one is Missing.
        """
        ...

    async def update_nodes(self, nodes: tuple[str, ...], *, state: NodeState, reason: str = "") -> None:
        """Set the state of nodes. Names that are not known are passed over."""
        ...

    async def delete_node(self, name: str) -> None:
        """Delete a node record. Unknown is success; Retry while a job is on it."""
        ...


class SlurmPort(SlurmReads, SlurmWrites, Protocol):
    """Both, and the end."""

    async def close(self) -> None:
        """Let requests under way end (at most 5 s), then close."""
        ...
