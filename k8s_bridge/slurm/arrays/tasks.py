"""Facts about the tasks of a job array: which of them wait, run and may start."""

from __future__ import annotations

from k8s_bridge.core.lazy import lazy
from k8s_bridge.slurm import predicates as is_
from k8s_bridge.slurm.eligibility import withholds
from k8s_bridge.slurm.facts import TEXT_PREFIX, Facts, held_against_text
from k8s_bridge.slurm.layout.features import pin_of
from k8s_bridge.slurm.model import COMPLETING, PENDING, Job
from k8s_bridge.slurm.moves.common import policy_of
from k8s_bridge.slurm.unit import Array

BAD_CONSTRAINTS = "BadConstraints"
"""Slurm itself holds what waits for a feature that no node has at the moment."""
RELAUNCH = 2.0
"""Seconds from a requeue until its nodes take the task again: slurmd refuses credentials of that second."""


class TaskFacts(Facts):
    """What the records of an array tell, whatever there is to run its tasks on."""

    @lazy
    def array(self) -> Array:
        """Records and slots. LookupError for a unit that is no array."""
        if self.unit.array is None:
            raise LookupError("no array in this unit")
        return self.unit.array

    @lazy
    def waiting(self) -> tuple[Job, ...]:
        """The records of tasks that wait."""
        return tuple([record for record in self.array.records if PENDING in record.states])

    @lazy
    def escaped(self) -> tuple[Job, ...]:
        """Those that are neither held nor pinned: Slurm could start them anywhere."""
        pins = ((record, pin_of(record.features, job_id=self.unit.job_id)) for record in self.waiting)
        return tuple([record for record, have in pins if not record.held and not have])

    @lazy
    def running(self) -> int:
        """How many tasks have nodes."""
        away = {PENDING, COMPLETING}
        return sum(1 for r in self.array.records if r.active and r.states.isdisjoint(away))

    @lazy
    def startable(self) -> tuple[Job, ...]:
        """Those that Slurm would start, had it the nodes."""
        return tuple([record for record in self.waiting if self._may_start(record)])

    @lazy
    def left(self) -> int:
        """How many tasks these are."""
        return sum(max(1, record.array_size) for record in self.startable)

    @lazy
    def withheld(self) -> str:
        """Why Slurm starts none of the tasks that wait, whatever there is to run them on; "" when it may."""
        whys = {r.reason for r in self.startable if not r.held and withholds(r, now=self.now)}
        free = any(r.held or not withholds(r, now=self.now) for r in self.startable)
        return "" if free else min(whys, default="")

    @lazy
    def relaunch(self) -> float | None:
        """Seconds until the next task that was requeued just now may start again; None without one."""
        return min((left for r in self.startable if (left := self.settling(r)) > 0), default=None)

    @lazy
    def worn_out(self) -> tuple[Job, ...]:
        """Waiting tasks that Slurm has requeued too often."""
        limit = policy_of(self).requeue_limit
        return tuple([r for r in self.waiting if r.array_task_id is not None and r.restart_count > limit])

    def settling(self, record: Job) -> float:
        """A requeue is a new submission to slurmctld, at its time."""
        return record.submit_time + RELAUNCH - self.now if record.restart_count else 0.0

    def _may_start(self, record: Job) -> bool:
        if not record.held or record.reason == BAD_CONSTRAINTS:
            return True
        return self._held_by_us(record) and not is_.refused(self) and not is_.ineligible(self)

    def _held_by_us(self, record: Job) -> bool:
        """Its own record is the last task's in the end; a task that was split off has a text of its own."""
        if record.job_id == self.unit.job_id or record.array_task_id is None:
            return not is_.held_by_other(self)
        return record.admin_comment.startswith(TEXT_PREFIX) and not held_against_text(record)
