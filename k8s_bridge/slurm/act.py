"""Carries out the effects of the Slurm bridge: one `match`, every branch idempotent. It never decides.

What an answer tells is put into the tables at once, so that the next decision sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, assert_never

from api.views import JobSet, Pod, Workload
from k8s_bridge.core import naming
from k8s_bridge.core.effects import Apply, Delete, Event, Patch
from k8s_bridge.core.errors import Conflict, Missing
from k8s_bridge.kube.events import EventRecorder
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.kube.writes import KubeWrites
from k8s_bridge.slurm.client.port import SlurmPort
from k8s_bridge.slurm.client.update import AT_ONCE, Hold, JobUpdate, NodeState
from k8s_bridge.slurm.effects import (
    Acknowledge,
    AllowRequeue,
    Begin,
    Cancel,
    CreateJobSet,
    Effect,
    GhostsDelete,
    JobChange,
    NodesDelete,
    NodesDown,
    NodesDrain,
    NodesResume,
    PinAndRelease,
    Recount,
    Rehold,
    Repin,
    SetPriority,
    SetText,
    SlurmEffect,
    TakeHold,
    Warn,
)
from k8s_bridge.slurm.facts import CLAIM, TEXT_PREFIX, denies_our_hold, held_against_text, is_alive
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.tables import Tables, unit_of

Render = Callable[[int, int | None], Mapping[str, Any]]
"""The manifest of the JobSet of a job, or of a slot of an array, from what is in the tables now.

Raises Terminal or Conflict.
"""


class Actor:
    """The only place of the Slurm bridge that writes."""

    def __init__(  # noqa: PLR0913  # its collaborators, by keyword
        self,
        *,
        kube: KubeClient,
        slurm: SlurmPort,
        events: EventRecorder,
        tables: Tables,
        namespace: str,
        render: Render,
        clock: Callable[[], float],
    ) -> None:
        self._kube = kube
        self._slurm = slurm
        self._tables = tables
        self._namespace = namespace
        self._writes = KubeWrites(
            kube, events, {JobSet: tables.jobsets, Workload: tables.workloads}, clock=clock
        )
        self._render = render

    async def act(self, effect: Effect) -> None:
        """Carry out one effect; raises Retry, Conflict or Terminal."""
        match effect:
            case CreateJobSet():
                await self._create(effect)
            case Apply() | Patch() | Delete() | Event():
                await self._writes.carry_out(effect)
            case _:
                await self._on_slurm(effect)

    async def _on_slurm(self, effect: SlurmEffect) -> None:
        match effect:
            case Rehold():
                await self._rehold(effect)
            case PinAndRelease():
                await self._release(effect)
            case Cancel(job_id=job_id, text=text, task=task):
                await self._say(job_id, text)
                await self._slurm.cancel(job_id, task=task)
            case SetText(job_id=job_id, text=text):
                await self._say(job_id, text)
            case Acknowledge():
                await self._acknowledge(effect)
            case NodesDown() | NodesDrain() | NodesResume() | Warn() | NodesDelete() | GhostsDelete():
                await self._on_nodes(effect)
            case _:
                await self._update(effect.job_id, self._change(effect))

    async def _on_nodes(
        self, effect: NodesDown | NodesDrain | NodesResume | Warn | NodesDelete | GhostsDelete
    ) -> None:
        match effect:
            case NodesDown(nodes=nodes, reason=reason):
                await self._slurm.update_nodes(nodes, state=NodeState.DOWN, reason=reason)
            case NodesDrain(nodes=nodes, reason=reason):
                await self._slurm.update_nodes(nodes, state=NodeState.DRAIN, reason=reason)
            case NodesResume(nodes=nodes):
                await self._slurm.update_nodes(nodes, state=NodeState.RESUME)
            case Warn(nodes=nodes, reason=reason, job_id=job_id, signal=signal):
                await self._slurm.update_nodes(nodes, state=NodeState.DRAIN, reason=reason)
                if signal:
                    await self._slurm.cancel(job_id, signal)
            case NodesDelete(nodes=nodes):
                await self._delete_nodes(nodes)
            case GhostsDelete(nodes=nodes):
                await self._delete_nodes([name for name in nodes if not await self._has_pod(name)])
            case _:
                assert_never(effect)

    def _change(self, effect: JobChange) -> JobUpdate:
        match effect:
            case TakeHold(text=text):
                change = JobUpdate(hold=Hold.TAKE, admin_comment=text, claim=CLAIM)
            case Repin(constraints=constraints):
                change = JobUpdate(constraints=constraints, begin_time=AT_ONCE)
            case AllowRequeue():
                change = JobUpdate(requeue=True)
            case Recount(nodes=count):
                change = JobUpdate(minimum_nodes=count)
            case SetPriority(priority=priority):
                change = JobUpdate(priority=priority)
            case _:
                assert_never(effect)
        return change

    async def _create(self, effect: CreateJobSet) -> None:
        manifest = self._render(effect.job_id, effect.slot)
        wanted: Mapping[str, str] = manifest["metadata"]["labels"]
        await self._writes.create_jobset(manifest, is_mine=lambda there: _is_ours(there, wanted))

    async def _rehold(self, effect: Rehold) -> None:
        """Hold first, so that nothing starts; then the user's own constraints: one call may fail half-way.

        Somebody may have held the job while it ran, which its state does not tell: that hold stays theirs,
        and so does the pin, which outlives their release.
        """
        there = await self._read(effect.job_id)
        if held_against_text(there):
            self._tables.jobs.upsert(there)
            raise Conflict(f"job {effect.job_id} is held by somebody else")
        await self._update(effect.job_id, JobUpdate(hold=Hold.TAKE, **_texts(there, effect.text)))
        begin = AT_ONCE if effect.begin is Begin.AT_ONCE else None
        await self._update(effect.job_id, JobUpdate(constraints=effect.constraints, begin_time=begin))

    async def _release(self, effect: PinAndRelease) -> None:
        job = self._tables.jobs.get(str(effect.job_id))
        if job is None or job.features != effect.constraints:
            await self._update(effect.job_id, JobUpdate(constraints=effect.constraints))
        there = await self._read(effect.job_id)
        if not (there.pending and there.held and there.features == effect.constraints):
            raise Conflict(f"job {effect.job_id} is not as it was pinned")
        begin = AT_ONCE if there.restart_count else None
        await self._update(
            effect.job_id,
            JobUpdate(hold=Hold.RELEASE, begin_time=begin, **_texts(there, effect.text)),
        )

    async def _say(self, job_id: int, text: str) -> None:
        there = await self._read(job_id)
        hold = Hold.RELEASE if denies_our_hold(there, text) else None
        await self._update(job_id, JobUpdate(hold=hold, **_texts(there, text)))

    async def _acknowledge(self, effect: Acknowledge) -> None:
        """The whole comment is written anew: not when its owner has changed it meanwhile."""
        known, there = self._tables.jobs.get(str(effect.job_id)), await self._read(effect.job_id)
        if there.comment == effect.comment:
            return
        if known is None or there.comment != known.comment:
            self._tables.jobs.upsert(there)
            raise Conflict(f"job {effect.job_id} has another comment by now")
        await self._update(effect.job_id, JobUpdate(comment=effect.comment))

    async def _has_pod(self, name: str) -> bool:
        """Slurm may tell of a new node before our watch tells of its pod."""
        try:
            return is_alive(await self._kube.get(Pod, name=name, namespace=self._namespace))
        except Missing:
            return False

    async def _delete_nodes(self, nodes: Iterable[str]) -> None:
        for name in nodes:
            await self._slurm.delete_node(name)
            self._tables.nodes.remove(name)

    async def _update(self, job_id: int, update: JobUpdate) -> None:
        try:
            await self._slurm.update_job(job_id, update)
        except Missing as error:
            raise Conflict(f"job {job_id} is gone") from error

    async def _read(self, job_id: int) -> Job:
        try:
            return await self._slurm.job(job_id)
        except Missing as error:
            raise Conflict(f"job {job_id} is gone") from error


def _texts(there: Job, text: str) -> dict[str, Any]:
    """The user's own comment is kept: ours goes there only if the field is empty or ours already.

    `there` was read just now: what its owner wrote since the last poll must not be lost.
    """
    free = not there.comment or there.comment.startswith(TEXT_PREFIX)
    return {"admin_comment": text, "comment": text if free else None}


def _is_ours(jobset: JobSet, wanted: Mapping[str, str]) -> bool:
    """Made for the same unit of the same WorkloadMixing."""
    told = (naming.MANAGED_BY, naming.WORKLOADMIXING, naming.SLURM_JOB_ID, naming.SLURM_ARRAY_SLOT)
    labels = jobset.metadata.labels
    return unit_of(jobset) is not None and all(labels.get(key) == wanted.get(key) for key in told)
