"""Every way to lose capacity under a running job: it is said why, and the job completes when that is over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.adversary import all_well, bridge, side_by_side

from k8s_bridge.sandbox.apiserver.kinds import (
    ADMISSIONCHECKS,
    CLUSTERQUEUES,
    EVENTS,
    JOBSETS,
    LOCALQUEUES,
    NODES,
    PODS,
    WORKLOADS,
)
from k8s_bridge.sandbox.controllers.api import Api
from k8s_bridge.sandbox.controllers.kueue import transitions
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import HIGH, NAMESPACE, TEAM_A, TEAM_B
from k8s_bridge.sandbox.world.objects import SHARED_QUEUE
from k8s_bridge.slurm import parking, speech
from k8s_bridge.slurm.moves import capacity

CHECK = "approval"
FOR_EVER = 600.0
RUN = 1.2
SLOW = "example.com/slow-end"
"""Finalizer of a pod whose end takes as long as on a real machine."""
LONGEST_DELAY = 120.0
"""cred_expire as Slurm has it unless configured: what a requeued job would wait."""


@dataclass
class Scene:
    """A world in which one job runs, and all that was ever written on it."""

    world: World
    job: int
    texts: dict[int, list[str]]

    @property
    def pod(self) -> str:
        return str(self.world.jobs[self.job].nodes[0])

    @property
    def machine(self) -> str:
        return str(self.world.storage.get(PODS, NAMESPACE, self.pod)["spec"]["nodeName"])

    @property
    def workload(self) -> dict[str, Any]:
        found = self.world.workload(self.job)
        assert found is not None
        return found

    def status(self, status: Mapping[str, Any]) -> None:
        """Write a Workload's status, as Kueue or an admission check's controller does."""
        self.world.storage.update(WORKLOADS, {**self.workload, "status": dict(status)}, subresource="status")

    def check(self, state: str) -> None:
        says = {"name": CHECK, "state": state, "message": "", "lastTransitionTime": self.stamp}
        self.status({**self.workload["status"], "admissionChecks": [says]})

    def workload_spec(self, **spec: Any) -> None:
        self.world.storage.patch(WORKLOADS, NAMESPACE, self.workload["metadata"]["name"], {"spec": spec})

    def kueue_evicts(self, reason: str, message: str) -> None:
        self.status(transitions.evict(self.workload, reason=reason, message=message, now=self.stamp))

    def kueue_requeues(self) -> None:
        text = "The workload backoff was finished"
        self.status(
            transitions.requeue(self.workload, reason="BackoffFinished", message=text, now=self.stamp)
        )

    def kueue_deactivates(self, cause: str, message: str) -> None:
        self.status(
            transitions.target_deactivation(self.workload, reason=cause, message=message, now=self.stamp)
        )
        self.workload_spec(active=False)

    @property
    def stamp(self) -> str:
        return Api(self.world.storage).stamp


Deed = Callable[[Scene], Awaitable[None] | None]


def nothing(_: Scene) -> None:
    """It heals by itself."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """`says` is written on the job when its capacity goes, `waits` while the cause lasts."""

    cause: Deed
    cure: Deed = nothing
    after: Deed = nothing
    says: str
    waits: str = ""
    event: str = "Evicted"
    jobset: str = "kept"
    begin: Callable[[World], None] = field(default=lambda _: None)


def stop(kind: Any, name: str, policy: str) -> Deed:
    def deed(scene: Scene) -> None:
        namespace = NAMESPACE if kind.namespaced else ""
        scene.world.storage.patch(kind, namespace, name, {"spec": {"stopPolicy": policy}})

    return deed


def preempt(scene: Scene) -> None:
    scene.world.submit_job("urgent", queue=TEAM_B, priority=HIGH, cpus=8, seconds=4.0)


def with_check(world: World) -> None:
    active = {"type": "Active", "status": "True", "reason": "ByHand", "message": "", "lastTransitionTime": ""}
    active["lastTransitionTime"] = Api(world.storage).stamp
    check = {"metadata": {"name": CHECK}, "spec": {"controllerName": "example.com/by-hand"}}
    made = world.storage.create(ADMISSIONCHECKS, check)
    world.storage.update(ADMISSIONCHECKS, {**made, "status": {"conditions": [active]}}, subresource="status")
    spec = {"admissionChecksStrategy": {"admissionChecks": [{"name": CHECK}]}}
    world.storage.patch(CLUSTERQUEUES, "", SHARED_QUEUE, {"spec": spec})


async def says_ready_again(scene: Scene) -> None:
    await scene.world.until(
        lambda: _true(scene.workload, "QuotaReserved") and not _true(scene.workload, "Evicted"),
        what="quota is reserved again",
    )
    scene.check("Ready")


async def approve_and_activate(scene: Scene) -> None:
    scene.workload_spec(active=True)
    await says_ready_again(scene)


def _true(workload: Mapping[str, Any], kind: str) -> bool:
    found = (workload.get("status") or {}).get("conditions") or ()
    return any(c["type"] == kind and c["status"] == "True" for c in found)


def delete_workload(scene: Scene) -> None:
    scene.world.delete(WORKLOADS, scene.workload["metadata"]["name"])


def evict_pod(scene: Scene) -> None:
    """What `kubectl drain` does after the cordon."""
    cordon(scene)
    pod = scene.world.storage.get(PODS, NAMESPACE, scene.pod)
    disrupted = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastTransitionTime": scene.stamp,
    }
    status = {**pod["status"], "conditions": [*pod["status"]["conditions"], disrupted]}
    scene.world.storage.update(PODS, {**pod, "status": status}, subresource="status")
    keep = {"metadata": {"finalizers": [*pod["metadata"].get("finalizers", ()), SLOW]}}
    scene.world.storage.patch(PODS, NAMESPACE, scene.pod, keep)
    scene.world.delete(PODS, scene.pod)


def let_pods_go(scene: Scene) -> None:
    for pod in scene.world.storage.list(PODS, namespace=NAMESPACE):
        left = [name for name in pod["metadata"].get("finalizers", ()) if name != SLOW]
        patch = {"metadata": {"finalizers": left or None}}
        scene.world.storage.patch(PODS, NAMESPACE, pod["metadata"]["name"], patch)


def cordon(scene: Scene) -> None:
    scene.world.storage.patch(NODES, "", scene.machine, {"spec": {"unschedulable": True}})


def oom(scene: Scene) -> None:
    scene.world.slurm.oom_kill(scene.pod)  # type: ignore[attr-defined]


async def lose_power(scene: Scene) -> None:
    await scene.world.power_off(scene.machine)


def bury(scene: Scene) -> None:
    """Until the machine is deleted its pods are never gone."""
    for node in scene.world.storage.list(NODES):
        if not _true(node, "Ready"):
            scene.world.delete(NODES, node["metadata"]["name"])


def activate(scene: Scene) -> None:
    scene.workload_spec(active=True)


TIMEOUT = "Exceeded the PodsReady timeout hpc/jobset-slurm-job-1"
LIMIT = "exceeding the maximum number of re-queuing retries"
CASES: dict[str, Case] = {
    "Preempted": Case(cause=preempt, says="preempted: Preempted to accommodate a workload"),
    "PodsReadyTimeout": Case(
        cause=lambda s: s.kueue_evicts("PodsReadyTimeout", TIMEOUT),
        cure=lambda s: s.kueue_requeues(),
        says=f"evicted: PodsReadyTimeout: {TIMEOUT}",
        waits=TIMEOUT,
    ),
    "NodeFailures": Case(
        cause=lambda s: s.kueue_evicts("NodeFailures", "Workload was evicted: a node failed"),
        cure=lambda s: s.kueue_requeues(),
        says="evicted: NodeFailures: Workload was evicted: a node failed",
    ),
    "DeactivatedDueToRequeuingLimitExceeded": Case(
        cause=lambda s: s.kueue_deactivates("RequeuingLimitExceeded", LIMIT),
        cure=activate,
        says=f"evicted: DeactivatedDueToRequeuingLimitExceeded: The workload is deactivated due to {LIMIT}",
        waits="DeactivatedDueToRequeuingLimitExceeded: ",
    ),
    "Deactivated": Case(
        cause=lambda s: s.workload_spec(active=False),
        cure=activate,
        says="evicted: Deactivated: The workload is deactivated",
        waits="Deactivated: ",
    ),
    "ClusterQueueStopped": Case(
        cause=stop(CLUSTERQUEUES, SHARED_QUEUE, "HoldAndDrain"),
        cure=stop(CLUSTERQUEUES, SHARED_QUEUE, "None"),
        says="evicted: ClusterQueueStopped: The ClusterQueue is stopped",
        waits=SHARED_QUEUE,
    ),
    "LocalQueueStopped": Case(
        cause=stop(LOCALQUEUES, TEAM_A, "HoldAndDrain"),
        cure=stop(LOCALQUEUES, TEAM_A, "None"),
        says="evicted: LocalQueueStopped: The LocalQueue is stopped",
        waits=TEAM_A,
    ),
    "a check that wants another try": Case(
        begin=with_check,
        cause=lambda s: s.check("Retry"),
        cure=says_ready_again,
        says="evicted: At least one admission check is false",
        waits="AdmissionCheck: ",
    ),
    "a check that rejects": Case(
        begin=with_check,
        cause=lambda s: s.check("Rejected"),
        cure=approve_and_activate,
        says="evicted: DeactivatedDueToAdmissionCheck: ",
        waits=f"Admission check(s): {CHECK}, were rejected",
    ),
    # Kueue leaves no word of it: what is seen first, its new Workload or its pods' end, is told.
    "a deleted Workload": Case(cause=delete_workload, says="k8s-bridge: Requeued: ", event=""),
    "a deleted JobSet": Case(
        cause=lambda s: s.world.delete(JOBSETS, f"slurm-job-{s.job}"),
        says="lost: pods are gone: ",
        event="",
        jobset="made anew",
    ),
    "a drained machine": Case(
        cause=evict_pod,
        cure=let_pods_go,
        says="(EvictionByEvictionAPI: Eviction API: evicting)",
        event="CapacityLost",
    ),
    "memory": Case(cause=oom, says="(OOMKilled, exit code 137)", event="CapacityLost"),
    "a machine that is gone for good": Case(
        cause=lose_power,
        says="(DeletionByTaintManager: Taint manager: deleting due to NoExecute taint)",
        event="CapacityLost",
        jobset="made anew",
        after=bury,
    ),
}


async def tell(case: Case, directory: Path) -> None:
    async with World.start(WorldConfig(directory=directory, slurm=Backend.FAKE)) as world:
        case.begin(world)
        cluster = world.slurm.slurm.cluster  # type: ignore[attr-defined]
        cluster.settings = replace(cluster.settings, cred_expire=LONGEST_DELAY)
        texts: dict[int, list[str]] = defaultdict(list)
        cluster.listeners.append(lambda job: texts[job.job_id].append(job.record.get("admin_comment", "")))
        async with bridge(world):
            await play(case, await scene_of(world, texts))


async def scene_of(world: World, texts: dict[int, list[str]]) -> Scene:
    job = await world.sbatch(JobRequest(ntasks=4, seconds=FOR_EVER))
    scene = Scene(world, job, texts)
    if world.storage.list(ADMISSIONCHECKS):
        await world.until(
            lambda: world.workload(job) and _true(scene.workload, "QuotaReserved"), what="quota"
        )
        scene.check("Ready")
    await world.until_state(job, "RUNNING")
    return scene


async def play(case: Case, scene: Scene) -> None:
    world, job = scene.world, scene.job
    before = world.of_job(JOBSETS, job)[0]["metadata"]["uid"]
    world.slurm.slurm.cluster.jobs[job].run_time = RUN  # type: ignore[attr-defined]
    await _done(case.cause(scene))
    await world.until(lambda: world.jobs[job].restarts, what="it is requeued")
    await world.until(
        lambda: any(case.says in text for text in scene.texts[job]), what=f"{case.says} is said"
    )
    if case.waits:
        await world.until(lambda: case.waits in world.text(job), what=f"{case.waits} is said")
        assert world.jobs[job].held
    await _done(case.cure(scene))
    await world.until_state(job, "COMPLETED", seconds=40)
    await _done(case.after(scene))
    await all_well(world, job, seconds=40)
    assert world.jobs[job].restarts == 1
    assert case.event in {"", *events(world, job)}
    spans = [span.uid for span in world.timeline.jobsets if span.job_id == job]
    assert (spans == [before]) is (case.jobset == "kept")


def events(world: World, job: int) -> Iterator[str]:
    for event in world.storage.list(EVENTS, namespace=NAMESPACE):
        if event["involvedObject"]["kind"] == "JobSet" and f"Slurm job {job}:" in event["message"]:
            yield event["reason"]


async def _done(deed: Awaitable[None] | None) -> None:
    if deed is not None:
        await deed


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for on purpose is waited for less."""
    monkeypatch.setattr(speech, "SETTLE", 0.1)
    monkeypatch.setattr(parking, "FIRST", 0.5)
    monkeypatch.setattr(capacity, "STUCK", 8.0)


@pytest.mark.usefixtures("hasty")
@pytest.mark.timeout(400)
async def test_a_running_job_that_loses_its_capacity_is_told_why_and_runs_again(tmp_path: Path):
    stories = {
        name: partial(tell, case, tmp_path / str(number)) for number, (name, case) in enumerate(CASES.items())
    }
    await side_by_side(stories)
