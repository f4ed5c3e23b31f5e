"""Stamps a job's marks from what both servers say and are asked. Sees the bridge only through its requests.

A JobSet belongs to the job that its label names, or else to the one that its name ends in; a Slurm node to
the JobSet whose pod has its name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from bench import slurm_answers
from bench.calls import Calls, Kind, of_kube, of_slurm, slurm_job
from bench.marks import Mark, Marks
from bench.tap import Answer, Request
from k8s_bridge.sandbox.apiserver.history import Change
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, PODS, WORKLOADS
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.world import World
from k8s_bridge.sandbox.world.recorder import job_of
from k8s_bridge.sandbox.world.slurm import JobFact, NodeFact, Seen, Start

Json = dict[str, Any]
_SAID = {"Admitted": Mark.ADMITTED, "Evicted": Mark.EVICTED}
_NAME = re.compile(r"job-(\d+)")


class Witness:
    """Not `stamping`, it only counts calls: with 20,000 jobs each answer has megabytes."""

    def __init__(self, *, stamping: bool = True) -> None:
        self.marks = Marks()
        self.slurm, self.kube = Calls(), Calls()
        self.first_listing: float | None = None
        self._stamping = stamping
        self.slurm_calls: Counter[int | None] = Counter()
        self._changed: set[int] = set()
        self._wanted: dict[int, int] = {}
        self._jobset: dict[str, int] = {}
        self._left: dict[int, set[str]] = {}
        self._nodes: Mapping[str, NodeFact] = {}

    def watch(self, world: World) -> None:
        """Subscribe to what happens in the world."""
        world.storage.subscribe(JOBSETS, self._saw_jobset)
        world.storage.subscribe(PODS, self._saw_pod)
        world.storage.subscribe(WORKLOADS, self._saw_workload)
        world.slurm.facts.listeners.append(self._saw_slurm)

    # -- what the bridge asks --------------------------------------------------------------------

    def asked_kube(self, request: Request) -> None:
        """The bridge sent a request to the API server."""
        kind, what = of_kube(request)
        self.kube.add(kind, what)
        if self._stamping and what in ("create jobsets", "patch jobsets"):
            job_id = _job_of(slurm_answers.document(request.body))
            if job_id is not None:
                self.marks.stamp(job_id, Mark.ASKED, request.received)

    def asked_slurm(self, request: Request) -> None:
        """The bridge sent a request to slurmrestd."""
        kind, what = of_slurm(request)
        job_id = slurm_job(request)
        update = slurm_answers.document(request.body) if what == "POST job/{}" else {}
        kind = Kind.TEXT if slurm_answers.is_text(update) else self._purpose(kind, job_id)
        self.slurm.add(kind, what)
        if kind in (Kind.MUTATION, Kind.READ):
            self.slurm_calls[job_id or _number(request.path)] += 1
        if job_id is not None and slurm_answers.releases(update):
            self.marks.stamp(job_id, Mark.RELEASED, request.received)

    def _purpose(self, kind: Kind, job_id: int | None) -> Kind:
        """A read of a job that was changed since the last listing is a read-back; others belong to polls."""
        if kind is Kind.POLL:
            self._changed.clear()
        elif kind is Kind.MUTATION and job_id is not None:
            self._changed.add(job_id)
        elif kind is Kind.READ and job_id not in self._changed:
            return Kind.POLL
        return kind

    # -- what the bridge is told -----------------------------------------------------------------

    def told_kube(self, answer: Answer) -> None:
        """Nothing is read off the answers of the API server."""

    def told_slurm(self, answer: Answer) -> None:
        """Slurmrestd has answered the bridge."""
        path = answer.request.path.rstrip("/")
        if answer.request.method != "GET" or answer.status >= 400:  # noqa: PLR2004
            return
        if path.endswith("/jobs") and self.first_listing is None:
            self.first_listing = answer.sent
        if not self._stamping:
            return
        found = slurm_answers.document(answer.body)
        if path.endswith("/nodes"):
            self._registered(slurm_answers.idle_nodes(found), Mark.NODES_SHOWN, answer.sent)
        elif "/job" in path:
            for job_id in slurm_answers.job_ids(found):
                self.marks.stamp(job_id, Mark.SHOWN, answer.sent)

    # -- what happens ----------------------------------------------------------------------------

    def _saw_jobset(self, change: Change, obj: Json) -> None:
        job_id = _job_of(obj)
        if job_id is None:
            return
        self._jobset[obj["metadata"]["uid"]] = job_id
        self._wanted[job_id] = sum(
            part.get("replicas", 1) * part["template"]["spec"].get("parallelism", 1)
            for part in obj["spec"]["replicatedJobs"]
        )
        if change is Change.DELETED:
            self.marks.stamp(job_id, Mark.JOBSET_GONE, perf_counter())
        self._lives(job_id, obj, change)

    def _saw_pod(self, change: Change, obj: Json) -> None:
        job_id = _job_of(obj)
        if job_id is not None:
            self._lives(job_id, obj, change)

    def _saw_workload(self, _change: Change, obj: Json) -> None:
        found = [mark for kind, mark in _SAID.items() if conditions.is_true(obj, kind)]
        for owner in obj["metadata"].get("ownerReferences") or ():
            if owner["uid"] in self._jobset:
                for mark in found:
                    self.marks.stamp(self._jobset[owner["uid"]], mark, perf_counter())

    def _saw_slurm(self, seen: Seen) -> None:
        now = perf_counter()
        match seen:
            case JobFact():
                self._saw_job(seen, now)
            case Start():
                self.marks.stamp(seen.job_id, Mark.RUNNING, now)
            case _:
                self._saw_nodes(seen, now)

    def _saw_job(self, job: JobFact, now: float) -> None:
        if job.over:
            self.marks.stamp(job.job_id, Mark.OVER, now)
            self._gone_if_nothing_is_left(job.job_id)
        elif job.waiting and self.marks.has(job.job_id, Mark.EVICTED):
            self.marks.stamp(job.job_id, Mark.REQUEUED, now)

    def _saw_nodes(self, nodes: Mapping[str, NodeFact], now: float) -> None:
        vanished = self._nodes.keys() - nodes.keys()
        self._nodes = nodes
        idle = {node.name for node in nodes.values() if slurm_answers.is_idle(node.states)}
        self._registered(idle, Mark.REGISTERED, now)
        for job_id in {_number(name) for name in vanished} - {None}:
            self._gone_if_nothing_is_left(job_id)  # type: ignore[arg-type]

    def _registered(self, idle: set[str], mark: Mark, at: float) -> None:
        """Stamp the jobs that have all their nodes now."""
        found: dict[int, int] = {}
        for name in idle:
            job_id = _number(name)
            if job_id is not None:
                found[job_id] = found.get(job_id, 0) + 1
        for job_id, count in found.items():
            if count >= self._wanted.get(job_id, count + 1):
                self.marks.stamp(job_id, Mark.REGISTERED, at)
                self.marks.stamp(job_id, mark, at)

    def _lives(self, job_id: int, obj: Json, change: Change) -> None:
        left = self._left.setdefault(job_id, set())
        if change is Change.DELETED:
            left.discard(obj["metadata"]["uid"])
            self._gone_if_nothing_is_left(job_id)
        else:
            left.add(obj["metadata"]["uid"])

    def _gone_if_nothing_is_left(self, job_id: int) -> None:
        nodes = any(_number(name) == job_id for name in self._nodes)
        if self.marks.has(job_id, Mark.OVER) and not self._left.get(job_id) and not nodes:
            self.marks.stamp(job_id, Mark.GONE, perf_counter())


def _job_of(obj: Mapping[str, Any]) -> int | None:
    meta = obj.get("metadata") or {}
    return job_of({"metadata": meta}) or _number(meta.get("name") or "")


def _number(name: str) -> int | None:
    found = _NAME.search(name)
    return int(found[1]) if found else None
