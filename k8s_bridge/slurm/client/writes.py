"""The commands to Slurm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import msgspec

from k8s_bridge.core.errors import BridgeError, Retry
from k8s_bridge.slurm.client import errors, names
from k8s_bridge.slurm.client.gate import Urgency
from k8s_bridge.slurm.client.http import Call, Repeat
from k8s_bridge.slurm.client.items import Small
from k8s_bridge.slurm.client.reads import Reads
from k8s_bridge.slurm.client.scontrol import Scontrol
from k8s_bridge.slurm.client.session import Reply, Session
from k8s_bridge.slurm.client.update import Hold, JobUpdate, NodeState, body_of, made, sayable
from k8s_bridge.slurm.client.versions import Api, Can

_STEPS = "FULL_STEPS_ONLY"
_BULK = 500
"""Names in one call."""


class Writes:
    """Commands through one session."""

    def __init__(self, session: Session, *, reads: Reads, scontrol: Scontrol) -> None:
        self._session = session
        self._reads = reads
        self._scontrol = scontrol

    async def update_job(self, job_id: int, update: JobUpdate) -> None:
        """Change a job; see `port.SlurmWrites`.

        slurmctld answers a change that it made with an error when no node could run the job at that moment,
        as is usual before pods are up. Then the job is read back, and what it shows counts.
        """
        api = await self._session.api()
        note = update.admin_comment if Can.ADMIN_COMMENT not in api.can else None
        # The note tells whose hold a hold is. Whoever dies in between must not have said what is not so yet:
        # a claim or a new hold is said before the hold, "released" or what follows a claim after it.
        after = note is not None and (update.hold is Hold.RELEASE or update.claim is not None)
        before = update.claim if after else note
        if note is not None and before is not None:
            await self._note(job_id, text=before)
        await self._say(job_id, sayable(update, api=api))
        if update.minimum_nodes is not None and Can.STRUCTURED not in api.can:
            await self._scontrol.renumber(job_id, nodes=update.minimum_nodes)
        if note is not None and after:
            await self._note(job_id, text=note)

    async def _note(self, job_id: int, *, text: str) -> None:
        """Like a change by REST: refused in words although it was made, while no node could run the job."""
        try:
            await self._scontrol.note(job_id, text=text)
        except Retry:
            if (await self._reads.job(job_id)).admin_comment != " ".join(text.split()):
                raise

    async def _say(self, job_id: int, said: JobUpdate) -> None:
        if said == JobUpdate():
            return
        reply = await self._session.ask(
            _post(f"job/{job_id:d}", "job/{id}", lambda api: body_of(said, api=api), _urgency(said))
        )
        if not (_tried(reply) and made(said, job=await self._reads.job(job_id))):
            self._done(reply)

    async def cancel(self, job_id: int, signal: str | None = None, *, task: int | None = None) -> None:
        """Cancel a job or send it a signal; see `port.SlurmWrites`."""
        if signal and Can.SIGNAL_STEPS not in (await self._session.api()).can:
            return
        named = f"{job_id:d}" if task is None else f"{job_id:d}_{task:d}"
        reply = await self._session.ask(
            lambda _: Call(
                method="DELETE",
                path=f"job/{named}",
                template="job/{id}",
                urgency=Urgency.CANCEL,
                query={"signal": signal, "flags": _STEPS} if signal else {},
                repeat=Repeat.ONCE if signal else Repeat.SAFE,
            )
        )
        if reply.codes != (errors.ALREADY_DONE,):
            self._done(reply)

    async def update_nodes(self, nodes: tuple[str, ...], *, state: NodeState, reason: str = "") -> None:
        """Set the state of nodes; see `port.SlurmWrites`."""
        api = await self._session.api()
        if Can.NODES_WRITE not in api.can:
            await self._scontrol.update(names.checked(nodes), state=state, reason=reason)
            return
        size = _BULK if Can.NODES_BULK in api.can else 1
        for some in _batches(names.checked(nodes), size=size):
            await self._update_some(some, state=state, reason=reason)

    async def delete_node(self, name: str) -> None:
        """Delete a node record; see `port.SlurmWrites`."""
        (checked,) = names.checked((name,))
        api = await self._session.api()
        if Can.NODES_WRITE not in api.can:
            await self._scontrol.delete(checked)
            return
        call = Call(method="DELETE", path=f"node/{checked}", template="node/{name}", urgency=Urgency.NODE)
        reply = await self._session.ask(lambda _: call)
        if reply.codes != (errors.INVALID_NODE,):
            self._done(reply)

    async def _update_some(self, some: tuple[str, ...], *, state: NodeState, reason: str) -> None:
        body: dict[str, Any] = {"state": [state.value], "reason": reason}
        if len(some) == 1:
            post = _post(f"node/{some[0]}", "node/{name}", lambda _: body, Urgency.REQUEUE)
        else:
            post = _post("nodes/", "nodes/", lambda _: {"name": list(some), **body}, Urgency.REQUEUE)
        reply = await self._session.ask(post)
        if errors.INVALID_NODE not in reply.codes:
            self._done(reply)
        elif len(some) > 1:  # one name that is not known refuses them all
            for name in some:
                await self._update_some((name,), state=state, reason=reason)

    def _done(self, reply: Reply[Small]) -> None:
        """Raise unless the change was made, and made as a whole."""
        envelope = self._session.checked(reply)
        ignored: BridgeError | None = errors.ignored(str(reply.call), envelope=envelope)
        if ignored is not None:
            try:
                raise ignored
            finally:
                del ignored  # as in Session.checked


def _post(
    path: str, template: str, body: Callable[[Api], dict[str, Any]], urgency: Urgency
) -> Callable[[Api], Call]:
    return lambda api: Call(
        method="POST",
        path=path,
        template=template,
        urgency=urgency,
        content=msgspec.json.encode(body(api)),
    )


def _tried(reply: Reply[Small]) -> bool:
    """Whether all that went wrong may be that the job could not start."""
    understood = bool(reply.envelope and not reply.envelope.warnings)
    return understood and bool(reply.codes) and errors.MADE_ANYWAY.issuperset(reply.codes)


def _urgency(update: JobUpdate) -> Urgency:
    if update.hold is Hold.RELEASE:
        return Urgency.RELEASE
    if update.hold is not None or update.begin_time is not None or update.priority is not None:
        return Urgency.REQUEUE
    return Urgency.RELEASE if update.constraints else Urgency.TEXT


def _batches(all_names: tuple[str, ...], *, size: int) -> Iterator[tuple[str, ...]]:
    rest = iter(all_names)
    while batch := tuple(islice(rest, size)):
        yield batch
