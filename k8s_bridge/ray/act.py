"""Carries out the effects of the Ray bridge: one `match`, every branch idempotent. It never decides."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import msgspec

from api.ray_views import RayCluster, RayJob, Submitter
from api.views import JobSet, Workload
from k8s_bridge.core.effects import ObjectRef, Patch
from k8s_bridge.core.errors import Conflict, Missing, Retry
from k8s_bridge.kube.events import EventRecorder
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.kube.writes import KubeWrites
from k8s_bridge.ray import names, submission
from k8s_bridge.ray.addresses import Addresses
from k8s_bridge.ray.effects import CreateWorkers, Effect, LetPass, Release, StopSubmission
from k8s_bridge.ray.head import Address, RayHead
from k8s_bridge.ray.observe import Observer
from k8s_bridge.ray.setup import Setup
from k8s_bridge.ray.tables import UID, Tables
from k8s_bridge.ray.unit import Key

_TOKEN_BYTES = 10
_PENDING = "PENDING"


class Actor:
    """The only place of the Ray bridge that writes."""

    def __init__(  # noqa: PLR0913  # its collaborators, by keyword
        self,
        *,
        kube: KubeClient,
        head: RayHead,
        addresses: Addresses,
        events: EventRecorder,
        tables: Tables,
        observer: Observer,
        setup: Callable[[], Setup],
        clock: Callable[[], float],
    ) -> None:
        self._kube = kube
        self._head = head
        self._addresses = addresses
        self._tables = tables
        self._observer = observer
        self._setup = setup
        self._writes = KubeWrites(
            kube,
            events,
            {JobSet: tables.jobsets, Workload: tables.workloads, RayJob: tables.jobs},
            clock=clock,
        )

    async def act(self, key: Key, effect: Effect) -> None:
        """Carry out one effect; raises Retry, Conflict or Terminal."""
        match effect:
            case CreateWorkers():
                await self._create(key)
            case Release():
                await self._release(key, effect)
            case LetPass():
                await self._ungate(key, effect.pod, effect.version, {})
            case StopSubmission():
                await self._stop(key, effect.job_id)
            case _:
                await self._writes.carry_out(effect)

    async def _create(self, key: Key) -> None:
        manifest = self._observer.manifest(key, token=secrets.token_hex(_TOKEN_BYTES))
        await self._writes.create_jobset(manifest, is_mine=lambda there: _is_of(there, key))

    async def _release(self, key: Key, effect: Release) -> None:
        """Only when Ray itself counts all workers: a pod that is up may not have joined yet."""
        job, address = self._job(key), await self._address(key)
        if address is None:
            raise Retry(f"the shared cluster of RayJob {key} has no head")
        nodes = await self._head.nodes(address)
        joined = sum(1 for node in nodes if node.alive and node.token == effect.token)
        if joined < effect.workers:
            raise Retry(f"Ray knows {joined} of {effect.workers} workers", after=1.0)
        given = submission.options(job, spec=self._setup().spec, token=effect.token, attempt=effect.attempt)
        await self._ungate(key, effect.pod, effect.version, given)

    async def _ungate(self, key: Key, name: str, version: str, notes: dict[str, str]) -> None:
        pod = self._tables.submitters.get(f"{key.namespace}/{name}")
        if pod is None or pod.metadata.resource_version != version:
            raise Conflict(f"pod {key.namespace}/{name} has changed")
        others = [{"name": gate.name} for gate in pod.spec.scheduling_gates if gate.name != names.GATE]
        patch: dict[str, Any] = {"spec": {"schedulingGates": others or None}}
        if notes:
            patch["metadata"] = {"annotations": notes}
        ref = ObjectRef.to(pod)
        effect = Patch(ref=ref, patch=patch, resource_version=version)
        answer = await self._kube.patch(effect)
        self._tables.submitters.upsert(msgspec.json.decode(answer, type=Submitter))

    async def _stop(self, key: Key, job_id: str) -> None:
        """See a submission over. One that waits for resources is stopped by Ray when it would start."""
        address = await self._address(key)
        if address is None or not job_id:
            return
        try:
            found = await self._head.submission(address, job_id)
            if found.status == "SUCCEEDED":
                raise Retry(f"{job_id} has just succeeded; KubeRay will see it", after=2.0)
            if found.over:
                return
            await self._head.stop(address, job_id)
        except Missing:
            return
        if found.status != _PENDING:
            raise Retry(f"{job_id} is being stopped", after=1.0)

    async def _address(self, key: Key) -> Address | None:
        cluster: RayCluster | None = self._observer.cluster(self._job(key))
        return await self._addresses.of(cluster) if cluster else None

    def _job(self, key: Key) -> RayJob:
        job = next(iter(self._tables.jobs.by(UID, key.uid)), None)
        if job is None:
            raise Conflict(f"RayJob {key} is gone")
        return job


def _is_of(jobset: JobSet, key: Key) -> bool:
    """Retry for one of a deleted job of the same name."""
    labels = jobset.metadata.labels
    ours = labels.get(names.MANAGED_BY) == names.MANAGER
    if ours and labels.get(names.RAY_JOB_UID) != key.uid:
        raise Retry(f"JobSet {jobset.key} of an earlier RayJob of this name is still there")
    return ours
