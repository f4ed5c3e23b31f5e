"""Facts about a job array and about one of its slots."""

from __future__ import annotations

from collections.abc import Mapping

from k8s_bridge.core import naming
from k8s_bridge.core.admission import Capacity
from k8s_bridge.core.lazy import lazy
from k8s_bridge.slurm import predicates as is_
from k8s_bridge.slurm.arrays.tasks import TaskFacts
from k8s_bridge.slurm.eligibility import is_requeue_delay
from k8s_bridge.slurm.facts import TEXT_PREFIX, Facts
from k8s_bridge.slurm.layout.features import most_slots, pin, pin_of, user_expression
from k8s_bridge.slurm.layout.types import Layout
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.moves.common import lasted
from k8s_bridge.slurm.unit import Presence, Slot, State, Unit

A_MOMENT = 2.0
"""Seconds by which the sight of a node may lag behind that of the task on it."""
IDLE_GRACE = 30.0
"""Seconds that a slot may be idle while Slurm withholds the array's tasks: another may end, and one start."""
AHEAD = 4
"""Slots of one array that may wait for quota at a time however few have it."""


class SlotFacts(Facts):
    """One slot. `Facts` of its JobSet, pods and nodes hold for it as they do for a job."""

    @lazy
    def over(self) -> bool:
        """Nothing of the array is left to run."""
        return self.unit.whole is None or ArrayFacts(self.unit.whole, self.now).over

    @lazy
    def failed(self) -> bool:
        """A task of the array has."""
        return self.unit.whole is not None and ArrayFacts(self.unit.whole, self.now).array.failed

    @lazy
    def admitted(self) -> bool:
        """It has quota, and Kueue does not want it back."""
        suspended = self.unit.jobset is None or self.unit.jobset.spec.suspend
        return self.admission.capacity is Capacity.ADMITTED and not suspended

    @lazy
    def busy(self) -> tuple[str, ...]:
        """Its nodes on which a task runs or completes."""
        return tuple([node.name for node in self.unit.nodes if node.busy])

    @lazy
    def surely_gone(self) -> bool:
        """A busy node's pod was seen to end; one that merely is not in the watch yet may be new."""
        ended = {pod.metadata.name for pod in self.unit.pods} - self.live
        return not ended.isdisjoint(self.busy)

    @lazy
    def serving(self) -> bool:
        """All of its nodes are registered, on live pods, and no other: it runs a task or could."""
        there = [n for n in self.unit.nodes if n.name in self.live and (n.usable or n.busy)]
        return self.admitted and 0 < self.wanted == len(there) == len(self.unit.nodes)

    @lazy
    def idle_long(self) -> bool:
        """It could run a task, and Slurm has had the time to start one."""
        return not self.busy and lasted(self, State.READY, IDLE_GRACE, self.now)

    @lazy
    def going(self) -> bool:
        """It is being given back, and nothing has started on it since."""
        return not self.busy and self._draining

    @lazy
    def may_run(self) -> int:
        """How many tasks run on it, or could by now: on old nodes one more may, until these are gone."""
        seen = self.unit.seen
        idle = seen is not None and seen.state is State.READY and self.now - seen.since >= A_MOMENT
        run = -(-len(self.busy) // max(1, self.wanted))
        return run or int(bool(self.unit.nodes) and not idle)

    @lazy
    def withheld(self) -> str:
        """Why Slurm starts no task of the array; "" when it may."""
        return ArrayFacts(self.unit.whole, self.now).withheld if self.unit.whole else ""

    @lazy
    def unwanted(self) -> str:
        """Why the array has no use for it; "" when it has."""
        whole = self.unit.whole
        if whole is None:
            return ""
        why = ArrayFacts(whole, self.now).unwanted.get(self.unit.slot or 0, "")
        return why or ("its nodes were given back" if self._emptied or self._drained else "")

    @lazy
    def _emptied(self) -> bool:
        """A slurmd whose record was deleted does not register again, whatever the array needs by now."""
        return self._draining and bool(self.live) and not self.unit.nodes

    @lazy
    def _draining(self) -> bool:
        return self.unit.seen is not None and self.unit.seen.state is State.DRAINING

    @lazy
    def _drained(self) -> bool:
        """By us: nobody else would take that off again."""
        ours = [n for n in self.unit.nodes if "DRAIN" in n.states and n.reason.startswith(TEXT_PREFIX)]
        return any(node.name in self.live for node in ours)


class ArrayFacts(TaskFacts):
    """A whole array: the tasks that wait and run, and what there is to run them on."""

    @lazy
    def over(self) -> bool:
        """Slurm has forgotten it, or none of its tasks waits or runs."""
        gone = self.unit.presence is Presence.GONE or self.unit.job is None
        return not self.array.records and (gone or self.job.terminal)

    @lazy
    def slots(self) -> tuple[SlotFacts, ...]:
        """The slots that have a JobSet of this array which stays."""
        found = (SlotFacts(slot, self.now) for slot in self.array.slots)
        return tuple([slot for slot in found if _stays(slot.unit) and slot.same_job])

    @lazy
    def kept(self) -> tuple[SlotFacts, ...]:
        """Those of them on which tasks may start, or may when they serve."""
        return tuple([slot for slot in self.slots if slot.unit.slot not in self.leaving])

    @lazy
    def leaving(self) -> Mapping[int, str]:
        """By number the others, and why."""
        whys = zip(_numbers(self.slots), map(self._why_leaving, self.slots), strict=True)
        return {number: why for number, why in whys if why}

    @lazy
    def serving(self) -> tuple[SlotFacts, ...]:
        """Those of them on which tasks may run."""
        return tuple([slot for slot in self.kept if slot.serving])

    @lazy
    def astray(self) -> int:
        """How many tasks must run elsewhere, as there are fewer slots on which one may."""
        slots = (SlotFacts(slot, self.now) for slot in self.array.slots)
        return max(0, self.running - sum(slot.may_run for slot in slots))

    @lazy
    def slots_wanted(self) -> int:
        """A slot for each task that runs or could, up to what may run at a time (--array=…%N).

        What runs on a slot that leaves needs no other. Tasks of several nodes are pinned to named slots,
        and constraints can hold only so many names.
        """
        elsewhere = sum(1 for slot in self.slots if slot.busy and slot.unit.slot in self.leaving)
        tasks = max(0, self.running - elsewhere) + self.left
        most = max(0, self.job.array_max_tasks - elsewhere) if self.job.array_max_tasks else tasks
        named = most_slots(self.user_constraints, job_id=self.unit.job_id) if self._many_nodes else tasks
        return min(tasks, most, named)

    @lazy
    def short(self) -> bool:
        """One slot more is of use. As many wait for quota as have it: a pool that gets some doubles."""
        admitted = sum(1 for slot in self.kept if slot.admitted)
        waiting = len(self.kept) - admitted
        if self.withheld and self.kept:
            return False
        return bool(self.left) and len(self.kept) < self.slots_wanted and waiting < max(AHEAD, admitted)

    @lazy
    def next_slot(self) -> int:
        """The lowest number that nothing is left of."""
        used = {slot.slot for slot in self.array.slots}
        return next(number for number in range(len(used) + 1) if number not in used)

    @lazy
    def unwanted(self) -> Mapping[int, str]:
        """By number the slots that are to be given back, and why. No task that runs is cut short."""
        if self.over:
            return dict.fromkeys(_numbers(self.slots), "no task is left")
        if self.unit.partition is None:
            return dict.fromkeys(_numbers(self.slots), "its partition is not managed any more")
        return {
            **self.leaving,
            **dict.fromkeys(self._idle(), f"Slurm starts no task on it: {self.withheld}"),
            **dict.fromkeys(self._spare(), "fewer tasks are left than there are slots"),
        }

    @lazy
    def to_free(self) -> tuple[Job, ...]:
        """Records of tasks that could start on a serving slot and are held, pinned elsewhere or put off."""
        return tuple([r for r in self.startable if self._astray(r)]) if self.serving else ()

    def constraints(self, record: Job) -> str:
        """The expression that a record is to have.

        Where a task needs several nodes they must be of one slot, so that only one task is lost with it.
        """
        user = user_expression(record.features, job_id=self.unit.job_id)
        numbers = tuple(_numbers(self.serving)) if self._many_nodes else ()
        return pin(user, job_id=self.unit.job_id, slots=numbers)

    @lazy
    def _many_nodes(self) -> bool:
        return isinstance(self.unit.layout, Layout) and self.unit.layout.nodes > 1

    def _astray(self, record: Job) -> bool:
        if self.settling(record) > 0:
            return False
        if record.held or is_requeue_delay(record, self.now):
            return True
        have = pin_of(record.features, job_id=self.unit.job_id)
        if not self._many_nodes:
            return have != self.feature
        there = frozenset(have.strip("[]").split("|"))
        return any(_feature(slot) not in there for slot in self.serving)

    def _why_leaving(self, slot: SlotFacts) -> str:
        have, now = slot.annotations.get(naming.SHAPE, ""), self.unit.shape
        if naming.RETAIN_UNTIL in slot.annotations or (now and have != now):
            return "the tasks or the WorkloadMixing were changed"
        return f"machine {slot.unit.cordoned} is cordoned" if slot.unit.cordoned else ""

    def _idle(self) -> list[int]:
        """Slots that no task takes, as Slurm withholds all that wait. One stays, to see when that is over."""
        if not self.withheld:
            return []
        idle = [slot for slot in self.serving if slot.idle_long or slot.going]
        stays = 0 if self.running or any(map(is_.parked, self.kept)) else 1
        return _numbers(idle)[stays:]

    def _spare(self) -> list[int]:
        """Waiting slots go first, then those whose nodes come up; of equal ones the last."""
        count = max(0, len(self.kept) - self.slots_wanted)
        idle = sorted(
            (slot.admitted, slot.serving, -number)
            for slot, number in zip(self.kept, _numbers(self.kept), strict=True)
            if not slot.busy
        )
        return [-number for _, _, number in idle[:count]]


def facts_of(unit: Unit, now: float) -> Facts:
    """The facts of a unit of any kind."""
    if unit.array is not None:
        return ArrayFacts(unit, now)
    return Facts(unit, now) if unit.slot is None else SlotFacts(unit, now)


def unwanted_slots(unit: Unit, now: float) -> tuple[Slot, ...]:
    """The slots that an array has no use for any more: they have to be looked at."""
    if unit.array is None:
        return ()
    return tuple(Slot(unit.job_id, number) for number in ArrayFacts(unit, now).unwanted)


def _stays(unit: Unit) -> bool:
    return unit.jobset is not None and unit.jobset.metadata.deletion_timestamp is None


def _numbers(slots: tuple[SlotFacts, ...] | list[SlotFacts]) -> list[int]:
    return [slot.unit.slot for slot in slots if slot.unit.slot is not None]


def _feature(slot: SlotFacts) -> str:
    return naming.slot_feature(slot.unit.job_id, slot.unit.slot or 0)
