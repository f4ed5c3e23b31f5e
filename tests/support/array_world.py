"""A small model of one job array's world: what Slurm, Kueue and kubelets may do, and what effects do to it.

It knows nothing of how decide works. Every method that changes the world is something that really happens.
"""

from __future__ import annotations

import msgspec

from k8s_bridge.core import effects as kube
from k8s_bridge.core import naming
from k8s_bridge.core.errors import Conflict
from k8s_bridge.slurm import effects as fx
from k8s_bridge.slurm.facts import identity
from k8s_bridge.slurm.layout.features import pin_of
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.unit import Slot
from support.array_slots import SlotWorld
from support.array_state import ARRAY, COMPLETED, PENDING, RUNNING, ArrayState
from support.job_world import Forbidden


class ArrayWorld(ArrayState):
    """What happens to an array."""

    # -- Kueue, JobSet, kubelet -------------------------------------------------------------------

    def kueue_admits(self) -> None:
        for slot in self.slots.values():
            if slot.jobset is None:
                continue
            slot.workload_uid = slot.workload_uid or self._new("w")
            holding = sum(1 for other in self.slots.values() if other.admitted)
            if slot.active and not slot.admitted and holding < self.quota:
                slot.admitted, slot.evicted = True, False
                slot.suspend(on=False)

    def kueue_evicts(self, index: int) -> None:
        admitted = [slot for slot in self.slots.values() if slot.admitted]
        if admitted:
            admitted[index % len(admitted)].evicted = True

    def kueue_finishes_evictions(self) -> None:
        for slot in self.slots.values():
            if slot.admitted and (slot.evicted or not slot.active):
                slot.admitted, slot.evicted = False, True
                slot.suspend(on=True)
                slot.terminate(slot.pods, now=self.now)

    def jobset_deleted(self, index: int) -> None:
        there = [slot for slot in self.slots.values() if slot.jobset]
        if there:
            there[index % len(there)].delete(now=self.now)

    def pods_are_made(self) -> None:
        for number, slot in self.slots.items():
            if slot.jobset and slot.admitted and not slot.jobset.spec.suspend:
                live = sum(1 for phase in slot.pods.values() if phase == "Running")
                for _ in range(self.width - live):
                    slot.pods[self._new(f"slurm-job-{ARRAY}-s{number}-g0")] = "Running"

    def nodes_register(self) -> None:
        for slot in self.slots.values():
            for name, phase in slot.pods.items():
                if phase == "Running" and name not in slot.registered:
                    slot.nodes[name] = "IDLE"
                    slot.registered.add(name)

    def pod_dies(self, index: int) -> None:
        names = [
            (slot, name) for slot in self.slots.values() for name, p in slot.pods.items() if p == "Running"
        ]
        if names:
            slot, name = names[index % len(names)]
            slot.terminate([name], now=self.now)

    def machine_is_cordoned(self, index: int) -> None:
        there = [slot for slot in self.slots.values() if slot.pods]
        if there:
            there[index % len(there)].cordoned |= set(there[index % len(there)].pods)

    def machines_are_uncordoned(self) -> None:
        for slot in self.slots.values():
            slot.cordoned.clear()

    def pods_vanish(self) -> None:
        for slot in self.slots.values():
            slot.pods = {name: phase for name, phase in slot.pods.items() if phase != "Terminating"}

    # -- Slurm and people -------------------------------------------------------------------------

    def slurm_starts(self) -> None:
        for row in self.rows():
            while self._start_one(row):
                if row.job_id != ARRAY or not self.waiting:
                    break

    def task_ends(self, index: int) -> None:
        running = [row for row in self.records.values() if row.states == RUNNING]
        if not running:
            return
        row = running[index % len(running)]
        going = {"Running", "Terminating"} if self.patient else {"Running"}
        if not {self._pods().get(name) for name in row.nodes.split(",")} <= going:
            return  # its pod is gone: it cannot end well
        self._free(row)
        assert row.array_task_id is not None
        self.over.add(row.array_task_id)
        self._put(row, states=COMPLETED)

    def scontrol_requeue(self, index: int) -> None:
        running = [row for row in self.records.values() if row.states == RUNNING]
        if running:
            self._requeue(running[index % len(running)])

    def scontrol_hold(self) -> None:
        if self.waiting and not self.own.held:
            self.held_by_other = bool(pin_of(self.own.features, job_id=ARRAY))
            self.own = msgspec.structs.replace(self.own, held=True, reason="JobHeldAdmin")

    def limit_is_reached(self) -> None:
        self.limited = True

    def limit_is_lifted(self) -> None:
        self.limited = False

    def scontrol_release(self) -> None:
        if self.waiting and self.own.held and self.own.admin_comment:
            self.held_by_other = False
            self.own = msgspec.structs.replace(self.own, held=False, reason="None")

    def slurm_notices_lost_nodes(self) -> None:
        pods = self._pods()
        for slot in self.slots.values():
            for name in slot.nodes:
                if pods.get(name) != "Running":
                    self._down(slot, name)

    def _start_one(self, row: Job) -> bool:
        most = 1 if self.limited else self.limit
        full = bool(most) and self._running() >= most
        if row.held or not row.pending or not pin_of(row.features, job_id=ARRAY) or full:
            return False
        for number, slot in self.slots.items():
            idle = sorted(n for n, state in slot.nodes.items() if state == "IDLE" and n not in slot.drained)
            if len(idle) >= self.width and self._matches(row, number):
                self._start(row, slot, idle[: self.width])
                return True
        return False

    def _matches(self, row: Job, number: int) -> bool:
        pins = pin_of(row.features, job_id=ARRAY).strip("[]").split("|")
        return naming.node_feature(ARRAY) in pins or naming.slot_feature(ARRAY, number) in pins

    def _start(self, row: Job, slot: SlotWorld, names: list[str]) -> None:
        if slot.seen_evicted.intersection(names):
            raise Forbidden("a task starts on capacity that was taken back, and the bridge knew")
        for name in names:
            slot.nodes[name] = "ALLOCATED"
        nodes = ",".join(names)
        if row.array_task_id is not None:
            self._put(row, states=RUNNING, nodes=nodes)
            return
        task = self.waiting.pop(0)
        job_id = self._id() if self.waiting else ARRAY
        self.records[job_id] = msgspec.structs.replace(
            row, job_id=job_id, states=RUNNING, nodes=nodes, array_task_id=task, array_size=0
        )

    # -- effects ----------------------------------------------------------------------------------

    def carry_out(self, key: int | Slot, effect: fx.Effect) -> None:
        """What an effect does; Conflict when Slurm or Kubernetes would refuse it."""
        match effect:
            case fx.CreateJobSet(slot=number):
                self._create(number)
            case fx.TakeHold(text=text):
                self._own(held=True, reason="JobHeldAdmin", admin_comment=text)
            case fx.SetText(text=text):
                self._own(admin_comment=text)
            case fx.PinAndRelease():
                self._release(effect)
            case fx.Repin(job_id=job_id, constraints=constraints):
                self._repin(job_id, constraints)
            case kube.Patch() | kube.Delete() | kube.Event():
                self._carry_out_kube(key, effect)
            case _:
                self._touch_nodes(effect)

    def _touch_nodes(self, effect: fx.Effect) -> None:
        match effect:
            case fx.NodesDown(nodes=nodes):
                self._down_all(nodes)
            case fx.Warn(nodes=nodes):
                self._warn(nodes)
            case fx.NodesDrain(nodes=nodes):
                for slot in self.slots.values():
                    slot.drained |= set(nodes) & set(slot.nodes)
            case fx.NodesDelete(nodes=nodes):
                self._delete_nodes(nodes)
            case fx.GhostsDelete(nodes=nodes):
                self._delete_nodes(tuple(n for n in nodes if self._pods().get(n) != "Running"))
            case _:
                raise Forbidden(f"{effect} is nothing that an array needs")

    def _carry_out_kube(self, key: int | Slot, effect: kube.KubeEffect) -> None:
        slot = self.slots[key.number] if isinstance(key, Slot) else SlotWorld()
        match effect:
            case kube.Patch():
                slot.patch(effect)
            case kube.Delete():
                slot.delete(now=self.now)

    def _create(self, number: int | None) -> None:
        assert number is not None
        if number in self.slots and self.slots[number].there:
            raise Forbidden("a slot of a number that is in use")
        task_count = len(self.waiting) + sum(1 for row in self.records.values() if not row.terminal)
        staying = [slot for slot in self.slots.values() if slot.jobset and not slot.cordoned & set(slot.pods)]
        if len(staying) >= task_count:
            raise Forbidden("a slot that no task is left for")
        self.slots[number] = SlotWorld()
        name = naming.jobset_name(ARRAY, slot=number)
        self.slots[number].create(
            name=name, uid=self._new("js"), identity=identity(self.own), width=self.width
        )

    def _release(self, effect: fx.PinAndRelease) -> None:
        if self.held_by_other:
            raise Forbidden("released an array that somebody else holds")
        if not any(slot.good and len(slot.nodes) == self.width for slot in self.slots.values()):
            raise Forbidden("released without a slot that serves")
        self._own(held=False, reason="None", features=effect.constraints, admin_comment=effect.text)

    def _repin(self, job_id: int, constraints: str) -> None:
        if job_id == ARRAY and self.waiting:
            self._own(features=constraints)
        elif job_id in self.records and self.records[job_id].states == PENDING:
            self._put(self.records[job_id], features=constraints, eligible_time=0)
        else:
            raise Conflict("Job is no longer pending execution")

    def _down_all(self, nodes: tuple[str, ...]) -> None:
        for slot in self.slots.values():
            for name in set(nodes) & set(slot.nodes):
                if slot.good and slot.pods.get(name) == "Running":
                    raise Forbidden(f"set {name} DOWN, and nothing is wrong with it")
                self._down(slot, name)

    def _warn(self, nodes: tuple[str, ...]) -> None:
        for slot in self.slots.values():
            if slot.good and set(nodes) & set(slot.nodes):
                raise Forbidden(f"drained {nodes}, and nothing is wrong with them")
            slot.drained |= set(nodes) & set(slot.nodes)

    def _delete_nodes(self, nodes: tuple[str, ...]) -> None:
        for slot in self.slots.values():
            for name in nodes:
                if slot.nodes.get(name) == "ALLOCATED":
                    raise Conflict("Requested nodes are busy")
                slot.nodes.pop(name, None)
                slot.drained.discard(name)
