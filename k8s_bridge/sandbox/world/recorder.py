"""Sees every change of the API server and turns it into a Timeline."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from k8s_bridge.core import naming
from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.history import Change
from k8s_bridge.sandbox.apiserver.kinds import ALL, CLUSTERQUEUES, JOBS, JOBSETS, LOCALQUEUES, PODS, WORKLOADS
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.kueue.workload import usage
from k8s_bridge.sandbox.controllers.quantity import Amounts, amounts
from k8s_bridge.sandbox.world.pulse import Pulse
from k8s_bridge.sandbox.world.slurm import SlurmFacts
from k8s_bridge.sandbox.world.timeline import Eviction, PlainJob, Span, Timeline


class Recorder:
    """Subscribes at construction; `timeline` tells what happened since, and what is left now."""

    def __init__(self, storage: Storage, slurm: SlurmFacts, pulse: Pulse) -> None:
        self._storage = storage
        self._slurm = slurm
        self._begun = time.time()
        self._jobsets: dict[str, Span] = {}
        self._pods: dict[str, Span] = {}
        self._admissions: list[Span] = []
        self._admitted: dict[str, Span] = {}
        self._evictions: dict[tuple[str, str], Eviction] = {}
        self._reserved: dict[str, Amounts] = {}
        self._peak: Counter[str] = Counter()
        storage.subscribe(JOBSETS, lambda change, obj: self._lived(self._jobsets, change, obj))
        storage.subscribe(PODS, lambda change, obj: self._lived(self._pods, change, obj))
        storage.subscribe(WORKLOADS, self._workload)
        for kind in ALL:
            storage.subscribe(kind, lambda _change, _obj: pulse.beat())

    @property
    def timeline(self) -> Timeline:
        """Everything until now."""
        used = {queue["spec"]["clusterQueue"] for queue in self._storage.list(LOCALQUEUES)}
        queues = [one for one in self._storage.list(CLUSTERQUEUES) if one["metadata"]["name"] in used]
        return Timeline(
            begun=self._begun,
            admissions=list(self._admissions),
            jobsets=list(self._jobsets.values()),
            pods=list(self._pods.values()),
            evictions=list(self._evictions.values()),
            starts=list(self._slurm.starts),
            jobs=dict(self._slurm.jobs),
            nodes=dict(self._slurm.nodes),
            plain_jobs=[_plain(self._storage, job) for job in self._storage.list(JOBS) if is_plain(job)],
            usage={queue["metadata"]["name"]: _usage(queue) for queue in queues},
            quota={queue["metadata"]["name"]: _quota(queue) for queue in queues},
            peak=dict(self._peak),
        )

    def _lived(self, spans: dict[str, Span], change: Change, obj: Json) -> None:
        meta, now = obj["metadata"], time.time()
        if meta["uid"] not in spans:
            jobset = (meta.get("labels") or {}).get(naming.JOBSET_UID, "")
            span = Span(name=meta["name"], uid=meta["uid"], begun=now, job_id=job_of(obj), jobset=jobset)
            spans[meta["uid"]] = span
        if change is Change.DELETED or _has_ended(obj):
            spans[meta["uid"]].ended = spans[meta["uid"]].ended or now

    def _workload(self, change: Change, obj: Json) -> None:
        gone = change is Change.DELETED or conditions.is_true(obj, "Finished")
        # Kueue counts a deactivated Workload no more, whatever its conditions still say.
        counts = not gone and obj["spec"].get("active", True)
        self._reservation(obj, holds=counts and conditions.is_true(obj, "QuotaReserved"))
        evicted = conditions.is_true(obj, "Evicted")
        self._admission(obj, holds=not gone and not evicted and conditions.is_true(obj, "Admitted"))
        if evicted and not gone:
            self._evicted(obj)

    def _reservation(self, obj: Json, *, holds: bool) -> None:
        uid = obj["metadata"]["uid"]
        self._reserved.pop(uid, None)
        if holds:
            self._reserved[uid] = _assigned(obj)
            total = sum(self._reserved.values(), Counter[str]())
            self._peak |= total

    def _admission(self, obj: Json, *, holds: bool) -> None:
        meta = obj["metadata"]
        span = self._admitted.get(meta["uid"])
        if holds and span is None:
            owner = self._jobset_of(obj)
            span = Span(
                name=meta["name"],
                uid=meta["uid"],
                begun=time.time(),
                job_id=owner.job_id if owner else None,
                jobset=owner.uid if owner else "",
            )
            self._admitted[meta["uid"]] = span
            self._admissions.append(span)
        elif span is not None and not holds:
            span.ended = time.time()
            del self._admitted[meta["uid"]]

    def _evicted(self, obj: Json) -> None:
        condition = conditions.find(obj, "Evicted")
        assert condition is not None
        key = (obj["metadata"]["uid"], condition["lastTransitionTime"])
        if key not in self._evictions:
            owner = self._jobset_of(obj)
            self._evictions[key] = Eviction(
                workload=obj["metadata"]["name"],
                reason=condition["reason"],
                message=condition["message"],
                at=time.time(),
                job_id=owner.job_id if owner else None,
            )

    def _jobset_of(self, workload: Json) -> Span | None:
        owners = workload["metadata"].get("ownerReferences") or ()
        spans = (self._jobsets.get(owner["uid"]) for owner in owners)
        return next(filter(None, spans), None)


def job_of(obj: Json) -> int | None:
    """The Slurm job that an object was made for."""
    value = (obj["metadata"].get("labels") or {}).get(naming.SLURM_JOB_ID, "")
    return int(value) if value.isdecimal() else None


def is_plain(job: Json) -> bool:
    """Whether a Job is somebody's own, and not a part of a JobSet."""
    return not job["metadata"].get("ownerReferences")


def _has_ended(obj: Json) -> bool:
    return (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _assigned(workload: Json) -> Amounts:
    total: Amounts = Counter()
    for (_, resource), amount in usage(workload).items():
        total[resource] += amount
    return total


def _usage(queue: Json) -> dict[str, int]:
    flavors = (queue.get("status") or {}).get("flavorsReservation") or ()
    return _sum(flavors, lambda resource: resource.get("total", "0"))


def _quota(queue: Json) -> dict[str, int]:
    groups = queue["spec"].get("resourceGroups") or ()
    return _sum([flavor for group in groups for flavor in group["flavors"]], lambda r: r["nominalQuota"])


def _sum(flavors: Any, read: Callable[[Json], object]) -> dict[str, int]:
    total: Amounts = Counter()
    for flavor in flavors:
        total.update(amounts({resource["name"]: read(resource) for resource in flavor["resources"]}))
    return dict(total)


def _plain(storage: Storage, job: Json) -> PlainJob:
    name = job["metadata"]["name"]
    for kind in ("Complete", "Failed"):
        if found := conditions.find(job, kind):
            return PlainJob(
                name=name, state=kind, reason=found.get("reason", ""), text=found.get("message", "")
            )
    owned = [
        workload
        for workload in storage.list(WORKLOADS, namespace=job["metadata"]["namespace"])
        if any(o["uid"] == job["metadata"]["uid"] for o in workload["metadata"].get("ownerReferences") or ())
    ]
    return _unfinished(name, job, owned[0] if owned else None)


def _unfinished(name: str, job: Json, workload: Json | None) -> PlainJob:
    if not job["spec"].get("suspend"):
        return PlainJob(name=name, state="Running", reason="Admitted", text="its pods run")
    evicted = conditions.find(workload, "Evicted") if workload else None
    reserved = conditions.find(workload, "QuotaReserved") if workload else None
    said = evicted if evicted and evicted["status"] == "True" else reserved
    if said is None:
        return PlainJob(name=name, state="Queued")
    return PlainJob(name=name, state="Queued", reason=said["reason"], text=said.get("message", ""))
