"""The questions to Slurm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from k8s_bridge.core.errors import Missing, Retry, Terminal
from k8s_bridge.slurm.client import names
from k8s_bridge.slurm.client.errors import INVALID_NODE, UNSPECIFIED
from k8s_bridge.slurm.client.gate import Urgency
from k8s_bridge.slurm.client.http import Call
from k8s_bridge.slurm.client.items import Items, Small
from k8s_bridge.slurm.client.number import AnyNumber, time_of
from k8s_bridge.slurm.client.results import Glance, License, Listing, Partition, Unchanged
from k8s_bridge.slurm.client.session import NOT_MODIFIED, Session
from k8s_bridge.slurm.client.states import States
from k8s_bridge.slurm.client.versions import Api, Can
from k8s_bridge.slurm.client.wire_job import WireJob, job_of
from k8s_bridge.slurm.client.wire_node import WireNode, WirePartition, node_of, partition_of
from k8s_bridge.slurm.client.wire_shared import WireLicense, WireReservation, license_of, reservation_of
from k8s_bridge.slurm.model import Job, Node, Ping, Reservation

W = TypeVar("W")
T = TypeVar("T")


class _Statistics(msgspec.Struct):
    req_time: AnyNumber


class _Diag(msgspec.Struct):
    statistics: _Statistics


_job = msgspec.json.Decoder(WireJob)


class Reads:
    """Reads through one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._cap = session.endpoint.max_object
        self._states = States()

    async def ping(self) -> Ping:
        """Who answers; see `port.SlurmReads`."""
        return await self._session.ping()

    async def jobs(self, since: int | None = None) -> Listing[Job] | Unchanged:
        """All jobs, read while they come in; see `port.SlurmReads`.

        v0.0.40 and v0.0.41 cannot be asked for changes: there it is always the whole list.
        """
        untold = Can.STRUCTURED not in (await self._session.api()).can  # listings of v0.0.38 tell no time
        asked_at = await self.controller_time() if untold else 0
        listing = await self._list("jobs", self._job_reader, since=since, can=Can.JOBS_SINCE)
        if isinstance(listing, Listing) and not listing.last_update:
            return Listing(items=listing.items, last_update=asked_at, malformed=listing.malformed)
        return listing

    async def job_states(self) -> Mapping[int, Glance] | None:
        """States of all jobs; None before v0.0.42. See `port.SlurmReads`."""
        api = await self._session.api()
        if Can.STATES not in api.can:
            return None
        call = Call(method="GET", path="jobs/state/", template="jobs/state/", urgency=Urgency.READ)
        reply = await self._session.send(lambda _: call, lambda _: Small(self._session.endpoint.max_body))
        self._session.checked(reply)
        return self._states.read(reply.reader.body)

    async def job(self, job_id: int) -> Job:
        """One job; see `port.SlurmReads`. An array's id is its own record, not its tasks'."""
        reply = await self._session.send(
            lambda _: Call(method="GET", path=f"job/{job_id:d}", template="job/{id}", urgency=Urgency.READ),
            lambda api: Items("jobs", read=self._job_reader(api), cap=self._cap),
        )
        self._session.checked(reply)
        for job in reply.reader.items:
            if job.job_id == job_id:
                return job
        if reply.reader.malformed:
            raise Terminal(f"{reply.call}: job {job_id} cannot be read", reason="JobUnreadable")
        raise Retry(f"{reply.call}: an answer without job {job_id}, and without an error")

    async def nodes(self, since: int | None = None) -> Listing[Node] | Unchanged:
        """All nodes; see `port.SlurmReads`."""
        return await self._list("nodes", lambda _: _node, since=since, can=Can.NODES_SINCE)

    async def node(self, name: str) -> Node:
        """One node. Missing when there is none of that name, which v0.0.40 and later say with a 200."""
        (checked,) = names.checked((name,))
        call = Call(method="GET", path=f"node/{checked}", template="node/{name}", urgency=Urgency.READ)
        reply = await self._session.send(lambda _: call, lambda _: Items("nodes", read=_node, cap=self._cap))
        if INVALID_NODE in reply.codes or (reply.status == _OK and not reply.reader.found):
            raise Missing(f"{reply.call}: there is no node {name}")
        self._session.checked(reply)
        for node in reply.reader.items:
            return node
        raise Retry(f"{reply.call}: an answer without node {name}, and without an error")

    async def partitions(self) -> tuple[Partition, ...]:
        """All partitions."""
        return await self._all("partitions", _partition)

    async def licenses(self) -> tuple[License, ...]:
        """All licenses."""
        return await self._all("licenses", _license)

    async def reservations(self) -> tuple[Reservation, ...]:
        """All reservations."""
        return await self._all("reservations", _reservation)

    async def _all(self, what: str, read: Callable[[bytes], T]) -> tuple[T, ...]:
        listing = await self._list(what, lambda _: read, since=None, can=Can.JOBS_SINCE)
        assert isinstance(listing, Listing)
        return listing.items

    async def _list(
        self, what: str, read: Callable[[Api], Callable[[bytes], T]], *, since: int | None, can: Can
    ) -> Listing[T] | Unchanged:
        def build(api: Api) -> Call:
            query = {} if since is None or can not in api.can else {"update_time": str(since)}
            path = api.collection(what)
            return Call(method="GET", path=path, template=path, urgency=Urgency.READ, query=query)

        reply = await self._session.send(build, lambda api: Items(what, read=read(api), cap=self._cap))
        if reply.status == NOT_MODIFIED:
            return Unchanged()
        if reply.call.query and UNSPECIFIED in reply.codes:
            # What 24.11 says when nodes have changed and partitions have not.
            return await self._list(what, read, since=None, can=can)
        updated = self._session.checked(reply).updated
        if not reply.reader.found:
            raise Retry(f"{reply.call}: an answer without {what}, and without an error")
        if reply.call.query and not updated and not reply.reader.items and Can.STRUCTURED in reply.api.can:
            return Unchanged()
        return Listing(items=tuple(reply.reader.items), last_update=updated, malformed=reply.reader.malformed)

    async def controller_time(self) -> int:
        """Slurmctld's own clock, Unix seconds."""
        call = Call(method="GET", path="diag", template="diag", urgency=Urgency.READ)
        reply = await self._session.ask(lambda _: call)
        self._session.checked(reply)
        try:
            return time_of(msgspec.json.decode(reply.reader.body, type=_Diag).statistics.req_time)
        except msgspec.MsgspecError as error:
            raise Retry(f"{call}: an answer that cannot be read: {error}") from error

    def _job_reader(self, api: Api) -> Callable[[bytes], Job]:
        known = Can.EXCLUSIVE in api.can
        return lambda raw: job_of(_job.decode(raw), exclusive_known=known)


_OK = 200
_wire_node = msgspec.json.Decoder(WireNode)
_wire_partition = msgspec.json.Decoder(WirePartition)
_wire_license = msgspec.json.Decoder(WireLicense)
_wire_reservation = msgspec.json.Decoder(WireReservation)


def _node(raw: bytes) -> Node:
    return node_of(_wire_node.decode(raw))


def _partition(raw: bytes) -> Partition:
    return partition_of(_wire_partition.decode(raw))


def _license(raw: bytes) -> License:
    return license_of(_wire_license.decode(raw))


def _reservation(raw: bytes) -> Reservation:
    return reservation_of(_wire_reservation.decode(raw))
