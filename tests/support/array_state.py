"""What there is in one job array's world, how the bridge sees it, and what changes of it are made of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import msgspec

from k8s_bridge.core.errors import Conflict
from k8s_bridge.slurm.layout.types import Group, Layout, Shape
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.seen import of_slot
from k8s_bridge.slurm.unit import Array, Key, Partition, Presence, Seen, Slot, Unit
from support.array_slots import SlotWorld

ARRAY = 7
PARTITION = Partition(name="all", queue="lq", priority_class="low", requeue_limit=1000)
PENDING, RUNNING, COMPLETED = frozenset({"PENDING"}), frozenset({"RUNNING"}), frozenset({"COMPLETED"})


@dataclass
class ArrayState:
    """Mutable truth about an array of `count` tasks of `width` nodes each, and quota for `quota` slots."""

    count: int = 4
    width: int = 1
    quota: int = 2
    limit: int = 0
    limited: bool = False
    """Its owner may run one job at a time."""
    patient: bool = False
    """drainOnPreemption: what runs may go on until its pods end."""
    now: float = 1000.0
    waiting: list[int] = field(default_factory=list)
    own: Job = field(init=False)
    records: dict[int, Job] = field(default_factory=dict)
    """By job id: the tasks that have started once."""
    slots: dict[int, SlotWorld] = field(default_factory=dict)
    held_by_other: bool = False
    over: set[int] = field(default_factory=set)
    serial: int = 100
    seen: dict[Key, Seen] = field(default_factory=dict)
    """What the bridge remembers of each unit."""

    def __post_init__(self) -> None:
        self.waiting = list(range(self.count))
        self.own = Job(
            job_id=ARRAY,
            partition="all",
            states=PENDING,
            held=True,
            reason="JobHeldUser",
            submit_time=100,
            requeue=True,
            array_job_id=ARRAY,
            array_max_tasks=self.limit,
            array_size=self.count,
        )

    # -- what is seen -----------------------------------------------------------------------------

    def rows(self) -> list[Job]:
        own = [msgspec.structs.replace(self.own, array_size=len(self.waiting))] if self.waiting else []
        return [self._told(row) for row in own + list(self.records.values())]

    def array_unit(self, **changes: object) -> Unit:
        rows = [row for row in self.rows() if not row.terminal]
        own = next((row for row in self.rows() if row.job_id == ARRAY), None)
        layout = Layout(groups=(Group(count=self.width, tasks=1, shape=Shape(cpus=1, memory=100)),))
        waits = any(row.pending for row in rows)
        whole = Unit(
            job_id=ARRAY,
            presence=Presence.PRESENT if own else Presence.GONE,
            job=own,
            partition=replace(PARTITION, drain_first=self.patient),
            layout=layout if waits else None,
            shape="s" if waits else "",
            array=Array(records=tuple(rows)),
            **changes,  # type: ignore[arg-type]
        )
        slots = tuple(
            self._capacity(number, whole) for number in sorted(self.slots) if self.slots[number].there
        )
        return replace(whole, array=Array(records=tuple(rows), slots=slots))

    def slot_unit(self, number: int, **changes: object) -> Unit:
        whole = self.array_unit()
        return replace(self._capacity(number, whole), whole=whole, **changes)  # type: ignore[arg-type]

    def passed(self, key: int | Slot) -> None:
        """The bridge has done all it wanted with a unit: what Kueue takes back is not used any more."""
        slot = self.slots.get(key.number) if isinstance(key, Slot) else None
        if slot and slot.evicted:
            slot.seen_evicted |= set(slot.nodes)

    def units(self) -> list[int | Slot]:
        return [ARRAY, *(Slot(ARRAY, number) for number in sorted(self.slots) if self.slots[number].there)]

    def _capacity(self, number: int, whole: Unit) -> Unit:
        slot = self.slots.get(number, SlotWorld())
        return Unit(
            job_id=ARRAY,
            slot=number,
            presence=whole.presence,
            job=whole.job,
            partition=replace(PARTITION, drain_first=self.patient),
            jobset=slot.jobset,
            workload=slot.workload(),
            pods=slot.pod_rows(),
            nodes=slot.node_rows(),
            cordoned="m" if slot.cordoned & set(slot.pods) else "",
            seen=of_slot(self.seen.get(Slot(ARRAY, number)), slot.jobset),
        )

    # -- small parts ------------------------------------------------------------------------------

    def _running(self) -> int:
        return sum(1 for row in self.records.values() if row.states == RUNNING)

    def _told(self, row: Job) -> Job:
        """With the reason that Slurm gives for a task that it withholds."""
        withheld = self.limited and self._running() and row.pending and not row.held
        return msgspec.structs.replace(row, reason="AssocMaxJobsLimit") if withheld else row

    def _requeue(self, row: Job) -> None:
        self._free(row)
        self._put(row, states=PENDING, nodes="", restart_count=row.restart_count + 1, submit_time=500)

    def _down(self, slot: SlotWorld, name: str) -> None:
        for row in list(self.records.values()):
            if row.states == RUNNING and name in row.nodes.split(","):
                self._requeue(row)
        slot.nodes[name] = "DOWN"

    def _free(self, row: Job) -> None:
        for slot in self.slots.values():
            for name in row.nodes.split(","):
                if slot.nodes.get(name) == "ALLOCATED":
                    slot.nodes[name] = "IDLE"

    def _pods(self) -> dict[str, str]:
        return {name: phase for slot in self.slots.values() for name, phase in slot.pods.items()}

    def _put(self, row: Job, **changes: object) -> None:
        self.records[row.job_id] = msgspec.structs.replace(self.records[row.job_id], **changes)

    def _own(self, **changes: object) -> None:
        if not self.waiting:
            raise Conflict("Job is no longer pending execution")
        self.own = msgspec.structs.replace(self.own, **changes)

    def _id(self) -> int:
        self.serial += 1
        return self.serial

    def _new(self, stem: str) -> str:
        return f"{stem}-{self._id()}"
