"""A small model of one job's world: what Slurm, Kueue and kubelets may do, and what effects do to it.

It knows nothing of how decide works. Every method that changes the world is something that really happens.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import msgspec

from api.views import (
    Condition,
    JobSet,
    JobSetSpec,
    JobTemplate,
    JobTemplateSpec,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodStatus,
    ReplicatedJob,
    Workload,
    WorkloadSpec,
    WorkloadStatus,
)
from k8s_bridge.core import effects as kube
from k8s_bridge.core import naming
from k8s_bridge.core.errors import Conflict
from k8s_bridge.slurm import effects as fx
from k8s_bridge.slurm.facts import denies_our_hold, identity, is_pinned
from k8s_bridge.slurm.layout.types import Group, Layout, Shape
from k8s_bridge.slurm.model import Job, Node
from k8s_bridge.slurm.unit import Partition, Presence, Unit

JOB = 7
FEATURE = naming.node_feature(JOB)
FOREIGN = "static-1"
LAYOUT = Layout(groups=(Group(count=2, tasks=1, shape=Shape(cpus=1, memory=100)),))
PARTITION = Partition(name="all", queue="lq", priority_class="low", requeue_limit=1000)
GRACE = 30.0
"""Seconds that a pod has to end in."""


class Forbidden(AssertionError):
    """The bridge did what it must never do."""


@dataclass
class World:
    """Mutable truth. `admitted`, `evicted` are the Workload's conditions."""

    patient: bool = False
    """drainOnPreemption: what runs may go on until its pods end."""
    now: float = 1000.0
    job: Job | None = field(
        default_factory=lambda: Job(
            job_id=JOB,
            partition="all",
            states=frozenset({"PENDING"}),
            held=True,
            reason="JobHeldUser",
            submit_time=100,
            requeue=True,
        )
    )
    jobset: JobSet | None = None
    deleting: bool = False
    workload_uid: str = ""
    admitted: bool = False
    evicted: bool = False
    active: bool = True
    priority: int = 0
    pods: dict[str, str] = field(default_factory=dict)
    """name -> Pending, Running, Succeeded, Failed or Terminating."""
    ends: dict[str, float] = field(default_factory=dict)
    """When a pod that is terminating ends at the latest."""
    nodes: dict[str, str] = field(default_factory=dict)
    """name -> IDLE, ALLOCATED or DOWN; ours only."""
    drained: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    """Pods whose slurmd will not register (again)."""
    held_by_other: bool = False
    held_by_us: bool = False
    """Although it runs: it started just as it was held again."""
    overtakes: bool = False
    """It will start just as it is held again, if it can."""
    limited: bool = False
    """A limit of its association keeps Slurm from starting it."""
    cancelled_by_us: bool = False
    completed: bool = False
    serial: int = 0

    # -- what is seen -----------------------------------------------------------------------------

    def unit(self, **changes: object) -> Unit:
        """The unit as the observer would build it."""
        facts = {
            "job_id": JOB,
            "presence": Presence.PRESENT if self.job else Presence.GONE,
            "job": self.job,
            "jobset": self.jobset,
            "workload": self._workload() if self.jobset and self.workload_uid else None,
            "pods": tuple(self._pod(name) for name in sorted(self.pods)) if self.jobset else (),
            "nodes": tuple(
                Node(
                    name=n,
                    states=frozenset({s, *(["DRAIN"] if n in self.drained else [])}),
                    features=(FEATURE,),
                )
                for n, s in sorted(self.nodes.items())
            ),
            "partition": replace(PARTITION, drain_first=self.patient),
            "layout": LAYOUT,
            "shape": "s",
        }
        return Unit(**{**facts, **changes})  # type: ignore[arg-type]

    def _workload(self) -> Workload:
        def condition(kind: str, on: bool, reason: str) -> Condition:
            return Condition(type=kind, status="True" if on else "False", reason=reason)

        conditions = [
            condition("QuotaReserved", self.admitted, "QuotaReserved" if self.admitted else "Pending")
        ]
        if self.admitted:
            conditions.append(condition("Admitted", True, "Admitted"))
        if self.evicted:
            conditions.append(condition("Evicted", True, "Preempted"))
        assert self.jobset
        return Workload(
            metadata=ObjectMeta(
                name="w",
                namespace="ns",
                uid=self.workload_uid,
                owner_references=(OwnerReference(uid=self.jobset.metadata.uid),),
            ),
            spec=WorkloadSpec(queue_name="lq", active=self.active, priority=self.priority),
            status=WorkloadStatus(conditions=tuple(conditions)),
        )

    def _pod(self, name: str) -> Pod:
        phase = self.pods[name]
        gone = datetime.fromtimestamp(self.ends[name], UTC) if phase == "Terminating" else None
        return Pod(
            metadata=ObjectMeta(name=name, namespace="ns", deletion_timestamp=gone),
            status=PodStatus(phase="Running" if gone else phase),
        )

    def live(self, name: str) -> bool:
        """Whether the pod is there to stay."""
        return self.pods.get(name) in {"Pending", "Running"}

    # -- Kueue, JobSet, kubelet -------------------------------------------------------------------

    def kueue_sees(self) -> None:
        if self.jobset and not self.workload_uid:
            self.workload_uid = self._new("w")
            self.admitted = self.evicted = False
            self.active = True

    def kueue_admits(self) -> None:
        if self.jobset and self.workload_uid and self.active and not self.admitted and not self.deleting:
            self.admitted, self.evicted = True, False
            self._suspend(False)

    def kueue_evicts(self) -> None:
        if self.admitted:
            self.evicted = True

    def kueue_finishes_eviction(self) -> None:
        if self.admitted and (self.evicted or not self.active):
            self.admitted, self.evicted = False, True
            self._suspend(True)
            self._terminate_all()

    def workload_deleted(self) -> None:
        if self.workload_uid:
            self.workload_uid, self.admitted, self.evicted = "", False, False
            self._suspend(True)
            self._terminate_all()

    def jobset_deleted(self) -> None:
        if self.jobset:
            self.jobset, self.workload_uid, self.admitted, self.evicted = None, "", False, False
            self._terminate_all()

    def pods_are_made(self) -> None:
        if self.jobset and self.admitted and not self.jobset.spec.suspend:
            missing = 2 - sum(1 for p in self.pods.values() if p in {"Pending", "Running", "Succeeded"})
            for _ in range(missing):
                self.pods[self._new(f"slurm-job-{JOB}-w-0")] = "Pending"

    def pods_run(self) -> None:
        for name, phase in self.pods.items():
            if phase == "Pending":
                self.pods[name] = "Running"

    def nodes_register(self) -> None:
        for name, phase in self.pods.items():
            if phase == "Running" and name not in self.nodes and name not in self.silent:
                self.nodes[name] = "IDLE"
                self.silent.add(name)

    def pod_dies(self, index: int) -> None:
        names = sorted(n for n in self.pods if self.pods[n] == "Running")
        if names:
            self.terminate(names[index % len(names)])

    def pods_vanish(self) -> None:
        for name in [n for n, phase in self.pods.items() if phase == "Terminating"]:
            del self.pods[name]

    # -- Slurm and people -------------------------------------------------------------------------

    def slurm_starts(self) -> None:
        job = self.job
        if job is None or not job.pending or job.held:
            return
        if not is_pinned(job.features, FEATURE):
            return
        if self.limited:
            self._job(reason="AssocGrpCpuLimit")
            return
        idle = sorted(n for n, s in self.nodes.items() if s == "IDLE" and n not in self.drained)
        if len(idle) < LAYOUT.nodes:
            return
        chosen = idle[: LAYOUT.nodes]
        for name in chosen:
            self.nodes[name] = "ALLOCATED"
        self._job(states=frozenset({"RUNNING"}), nodes=",".join(chosen), reason="None")

    def slurm_starts_sooner(self) -> None:
        """Than the bridge's next hold on the job arrives: Slurm holds what runs, and does no more of it."""
        self.overtakes = True

    def job_ends(self) -> None:
        if self.job and "RUNNING" in self.job.states:
            if all(self.live(n) for n in self.job.nodes.split(",")):
                self.completed = True
            self._end("COMPLETED" if self.completed else "FAILED")

    def job_ends_in_time(self) -> None:
        """Well, while all of its pods are there: those that are told to end may let it."""
        going = {"Running", "Terminating"} if self.patient else {"Running"}
        job = self.job
        if job and "RUNNING" in job.states and {self.pods.get(n) for n in job.nodes.split(",")} <= going:
            self.completed = True
            self._end("COMPLETED")

    def scancel(self) -> None:
        if self.job and not self.job.terminal:
            self._end("CANCELLED")

    def purge(self) -> None:
        if self.job and self.job.terminal:
            self.job = None

    def scontrol_hold(self) -> None:
        if self.job and self.job.pending and not self.job.held:
            # A waiting job that is let go and held again between two looks is, for all to see, as we left it.
            self.held_by_other = is_pinned(self.job.features, FEATURE)
            self._job(held=True, reason="JobHeldAdmin")

    def scontrol_hold_running(self) -> None:
        if self.job and "RUNNING" in self.job.states and not self.job.held:
            self._job(held=True, reason="JobHeldUser")

    def scontrol_uhold(self) -> None:
        """Before capacity was asked for it cannot be told from the hold of the submission."""
        if self.job and self.job.pending and self.job.held and self.jobset:
            self.held_by_other = True
            self._job(reason="JobHeldUser")

    def depends(self) -> None:
        if self.job and self.job.pending and self.job.held:
            self._job(dependency="afterok:5(unfulfilled)")

    def predecessor_ends(self) -> None:
        if self.job:
            self._job(dependency="")

    def limit_is_reached(self) -> None:
        self.limited = True

    def limit_is_lifted(self) -> None:
        self.limited = False
        if self.job and self.job.reason == "AssocGrpCpuLimit":
            self._job(reason="None")

    def scontrol_release(self) -> None:
        if self.job and "RUNNING" in self.job.states and self.job.held and not self.held_by_us:
            self._job(held=False, reason="None")
        if self.job and self.job.pending and self.job.held and self.job.admin_comment:
            self.held_by_other = False
            self._job(held=False, reason="None")

    def scontrol_requeue(self) -> None:
        if self.job and "RUNNING" in self.job.states:
            self._requeue()

    def slurm_notices_lost_node(self) -> None:
        job = self.job
        for name in list(self.nodes):
            if not self.live(name):
                self.nodes[name] = "DOWN"
        if job and "RUNNING" in job.states and any(self.nodes[n] == "DOWN" for n in job.nodes.split(",")):
            self._requeue()

    def slurmd_hangs(self) -> None:
        """Its pod lives on and does not notice; the node is down for Slurm, for good."""
        for name in sorted(self.nodes)[:1]:
            if self.live(name) and self.nodes[name] in {"IDLE", "ALLOCATED"}:
                self.silent.add(name)
                self.nodes[name] = "DOWN"
                if self.job and "RUNNING" in self.job.states and name in self.job.nodes.split(","):
                    self._requeue()

    # -- effects ----------------------------------------------------------------------------------

    def carry_out(self, effect: fx.Effect) -> None:
        """What an effect does; Conflict when Slurm or Kubernetes would refuse it."""
        match effect:
            case fx.CreateJobSet():
                self._create_jobset()
            case fx.TakeHold(text=text):
                self._must_pend()
                self._job(held=True, reason="JobHeldAdmin", admin_comment=text)
            case fx.Rehold():
                self._rehold(effect)
            case fx.PinAndRelease():
                self._release(effect)
            case fx.AllowRequeue():
                self._job(requeue=True)
            case fx.Cancel():
                self.cancelled_by_us = True
                self._end("CANCELLED")
            case fx.NodesDown(nodes=nodes) | fx.NodesDrain(nodes=nodes) | fx.NodesDelete(nodes=nodes):
                self._touch_nodes(effect, nodes)
            case fx.GhostsDelete(nodes=nodes):
                gone = tuple(name for name in nodes if not self.live(name))
                self._touch_nodes(fx.NodesDelete(nodes=gone), gone)
            case _:
                self._carry_out_small(effect)

    def _carry_out_small(self, effect: fx.Effect) -> None:
        match effect:
            case fx.Warn(nodes=nodes):
                self._warn(nodes)
            case fx.SetText(text=text):
                self._say(text)
            case fx.Acknowledge(comment=comment):
                self._job(comment=comment)
            case fx.SetPriority(priority=priority):
                self._set_priority(priority)
            case kube.Patch():
                self._patch(effect)
            case kube.Delete():
                self.jobset_deleted()

    def _rehold(self, effect: fx.Rehold) -> None:
        if self.overtakes:
            self.overtakes = False
            self.slurm_starts()
            self.held_by_us = self.job is not None and "RUNNING" in self.job.states and not self.job.held
            if self.held_by_us:
                self._job(held=True, reason="JobHeldAdmin", admin_comment=effect.text)
        self._must_pend()
        if self.held_by_other:
            raise Conflict("held by somebody else")
        held = {"held": True, "reason": "JobHeldAdmin"}
        self._job(**held, admin_comment=effect.text, features=effect.constraints)

    def _say(self, text: str) -> None:
        assert self.job
        if denies_our_hold(self.job, text):
            self.held_by_us = False
            self._job(held=False, reason="None")
        self._job(admin_comment=text)

    def _release(self, effect: fx.PinAndRelease) -> None:
        self._must_pend()
        if self.held_by_other:
            raise Forbidden("released a job that somebody else holds")
        if not (self.admitted and not self.evicted):
            raise Forbidden("released without admitted capacity")
        for name in effect.nodes:
            if not self.live(name) or self.nodes.get(name) != "IDLE" or name in self.drained:
                raise Forbidden(f"released onto {name}, which is not ready")
        if set(self.nodes) - set(effect.nodes):
            raise Forbidden("released while old node records carry the job's feature")
        self._job(held=False, reason="None", features=effect.constraints, admin_comment=effect.text)

    def _warn(self, nodes: tuple[str, ...]) -> None:
        if not self.patient or (self.admitted and not self.evicted and all(map(self.live, nodes))):
            raise Forbidden("drained nodes that are not to go")
        self.drained |= set(nodes) & set(self.nodes)

    def _set_priority(self, priority: int) -> None:
        assert self.job
        if not priority or self.job.held:
            raise Forbidden("a priority of 0 holds a job, and a held job has no other")
        self._job(priority=priority)

    def _touch_nodes(self, effect: fx.Effect, nodes: tuple[str, ...]) -> None:
        if FOREIGN in nodes:
            raise Forbidden("touched a node that is not ours")
        for name in nodes:
            state = self.nodes.get(name)
            if state is None:
                continue
            match effect:
                case fx.NodesDown():
                    self.nodes[name] = "DOWN"
                    if self.job and name in self.job.nodes.split(",") and "RUNNING" in self.job.states:
                        self._requeue()
                case fx.NodesDelete() if state == "ALLOCATED":
                    raise Conflict("Requested nodes are busy")
                case fx.NodesDelete():
                    del self.nodes[name]
                    self.drained.discard(name)

    def _patch(self, effect: kube.Patch) -> None:
        if effect.ref.kind == "Workload":
            if effect.ref.uid != self.workload_uid:
                raise Conflict("another Workload")
            self.active = effect.patch["spec"].get("active", self.active)
            self.priority = effect.patch["spec"].get("priority", self.priority)
            if not self.active and self.admitted:
                self.evicted = True
            return
        if self.jobset is None or effect.ref.uid != self.jobset.metadata.uid:
            raise Conflict("another JobSet")
        annotations = dict(self.jobset.metadata.annotations)
        for key, value in effect.patch["metadata"]["annotations"].items():
            annotations.pop(key, None)
            if value is not None:
                annotations[key] = value
        self._jobset(annotations, suspend=self.jobset.spec.suspend)

    def _create_jobset(self) -> None:
        if self.jobset is not None:
            raise Forbidden("a second JobSet for one unit")
        assert self.job
        if self.job.dependency:
            raise Forbidden("asked for capacity of a job that Slurm would not start")
        self.serial += 1
        annotations = {naming.IDENTITY: identity(self.job), naming.SHAPE: "s"}
        self._jobset(annotations, suspend=True, uid=f"js-{self.serial}")
        self.pods = {n: p for n, p in self.pods.items() if p == "Terminating"}

    def _jobset(self, annotations: dict[str, str], *, suspend: bool, uid: str = "") -> None:
        old = self.jobset.metadata.uid if self.jobset else ""
        self.jobset = JobSet(
            metadata=ObjectMeta(
                name=naming.jobset_name(JOB), namespace="ns", uid=uid or old, annotations=annotations
            ),
            spec=JobSetSpec(
                suspend=suspend,
                replicated_jobs=(
                    ReplicatedJob(name="w", template=JobTemplate(spec=JobTemplateSpec(parallelism=2))),
                ),
            ),
        )

    def _suspend(self, on: bool) -> None:
        if self.jobset:
            self._jobset(dict(self.jobset.metadata.annotations), suspend=on)

    def _terminate_all(self) -> None:
        for name in self.pods:
            self.terminate(name)

    def terminate(self, name: str) -> None:
        self.pods[name] = "Terminating"
        self.ends.setdefault(name, self.now + GRACE)

    def _must_pend(self) -> None:
        if self.job is None or not self.job.pending:
            raise Conflict("Job is not pending")

    def _requeue(self) -> None:
        assert self.job
        self._free_nodes()
        self.held_by_other = self.job.held and not self.held_by_us
        self.held_by_us = False
        self._job(
            states=frozenset({"PENDING"}),
            nodes="",
            reason=self.job.reason if self.job.held else "BeginTime",
            restart_count=self.job.restart_count + 1,
            submit_time=self.job.submit_time + 50,
        )

    def _end(self, state: str) -> None:
        self._free_nodes()
        self.held_by_us = False
        self._job(states=frozenset({state}), held=False)

    def _free_nodes(self) -> None:
        for name, state in self.nodes.items():
            if state == "ALLOCATED":
                self.nodes[name] = "IDLE"

    def _job(self, **changes: object) -> None:
        assert self.job
        self.job = msgspec.structs.replace(self.job, **changes)

    def _new(self, stem: str) -> str:
        self.serial += 1
        return f"{stem}-{self.serial}"
