"""The Slurm bridge as the loop sees it: units in, decisions out, effects carried out and noted.

Joins observer, table and actor; owns no connection. After a write to Slurm a unit is not decided again until
a poll that began later has ended, so that no decision rests on what the write has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeGuard, get_args

import msgspec

from k8s_bridge.core.decision import Decision
from k8s_bridge.core.errors import Terminal
from k8s_bridge.runtime.controller import Outcome, Result
from k8s_bridge.slurm.arrays.facts import unwanted_slots
from k8s_bridge.slurm.census import Census, Group
from k8s_bridge.slurm.decide import decide
from k8s_bridge.slurm.effects import CreateJobSet, Effect, PinAndRelease, SlurmEffect
from k8s_bridge.slurm.freshness import Freshness
from k8s_bridge.slurm.guard import Guard
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.observe import Observer
from k8s_bridge.slurm.pace import Pace
from k8s_bridge.slurm.stages import Stages
from k8s_bridge.slurm.tables import Tables
from k8s_bridge.slurm.unit import Deletion, Key, State, Unit, job_of

_SPOKEN = frozenset({"Event", "SetText"})
_FAST = frozenset(
    {
        State.ADMITTED,
        State.READY,
        State.RELEASED,
        State.EVICTED,
        State.LOST,
        State.COMPLETING,
        State.DRAINING,
        State.UNKNOWN,
    }
)
_FOLLOWED = _FAST | {
    State.QUEUED,
    State.PARKED,
    State.WITHHELD,
    State.HELD_BY_OTHER,
    State.TRESPASS,
    State.FAILED,
    State.RESIZED,
}
_SLURM_EFFECTS = get_args(SlurmEffect)


class Acting(Protocol):
    """What carries effects out."""

    async def act(self, effect: Effect) -> None:
        """Carry out one effect; raises Retry, Conflict or Terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The last verdict on a unit, for people."""

    state: State
    reason: str
    text: str
    since: float


class SlurmController:
    """Implements runtime.controller.Controller for job ids."""

    def __init__(  # noqa: PLR0913  # its collaborators, by keyword
        self,
        *,
        name: str,
        tables: Tables,
        observer: Observer,
        actor: Acting,
        stages: Stages,
        blocked: Callable[[], str],
        monotonic: Callable[[], float],
        clock: Callable[[], float],
    ) -> None:
        self.name = name
        self.said: dict[Key, Said] = {}
        self.last_start = self.last_move = float("-inf")
        """When a job was first seen to run last, by `clock`."""
        self.census = Census()
        self._tables = tables
        self._observer = observer
        self._actor = actor
        self._stages = stages
        self._blocked = blocked
        self._monotonic = monotonic
        self._clock = clock
        self._guard = Guard()
        self._decided: dict[Key, float] = {}
        self._freshness = Freshness()
        self._again: Callable[[Key], None] = lambda _: None
        self._on_wrote: Callable[..., None] = lambda *_: None
        self._on_moving: Callable[[], None] = lambda: None
        self._on_entered: Callable[[Unit, State], None] = lambda *_: None

    def on_wrote(self, wrote: Callable[..., None]) -> None:
        """Call `wrote` after each write to Slurm, with the id of the job whose record must be read again."""
        self._on_wrote = wrote

    def on_moving(self, moving: Callable[[], None]) -> None:
        """Call `moving` whenever a unit enters a state in which Slurm must be watched closely."""
        self._on_moving = moving

    def on_entered(self, entered: Callable[[Unit, State], None]) -> None:
        """Call `entered` whenever a unit enters another state."""
        self._on_entered = entered

    def unknown(self) -> list[int]:
        """Ids that Slurm has to be asked about."""
        return list({job_of(key) for key in self.census.within({State.UNKNOWN})})

    def on_again(self, again: Callable[[Key], None]) -> None:
        """Call `again` with each unit that must be looked at although none of its rows changed."""
        self._again = again

    def blocked(self) -> str:
        """Why nothing may be decided now."""
        return self._blocked()

    def keys(self) -> Iterable[Key]:
        """Every unit that any source knows of."""
        return self._tables.keys() | self.said.keys()

    def followed(self) -> set[int]:
        """Ids of jobs that the bridge works on right now: their records must be fresh.

        Slots are not among them: the record of a large array is large. The array is while tasks of it wait:
        that they were held shows nowhere else.
        """
        keys = {
            key for key in (*self.census.within(_FOLLOWED), *self._freshness.written) if isinstance(key, int)
        }
        keys |= {key for key in self.census.within({State.RUNNING}) if self._is_waiting_array(key)}
        return keys | {one.job_id for key in keys for one in self._observer.components(key)}

    def _is_waiting_array(self, key: Key) -> TypeGuard[int]:
        own = self._tables.jobs.get(str(key)) if isinstance(key, int) else None
        return own is not None and own.array_job_id == key and own.pending

    @property
    def pace(self) -> Pace:
        """How closely Slurm must be watched for the units that there are."""
        states = self.census.states()
        if self._freshness.written or not _FAST.isdisjoint(states):
            return Pace.MOVING
        return Pace.RUNNING if states[State.RUNNING] or states[State.TRESPASS] else Pace.IDLE

    def polled(self, *, started: float, lost: int = 0) -> None:
        """A poll that began at `started` (monotonic) has ended well.

        `lost` jobs that were not over are missing from its list and were not asked about yet. Only units that
        were looked at in vain are looked at again: a write that failed must not come back with every poll.
        """
        self._judge(lost=lost)
        for job_id in self._freshness.found(started):
            self._again_whole(job_id)
        for key in self._freshness.polled(started):
            self._again(key)

    def missing(self, job_id: int, last: Job | None = None) -> None:
        """Slurm said "invalid job id"; `last` is the job's record before that, if there was one.

        One that was not over is decided on after a whole look: how many are gone with it must be known.
        """
        self._observer.gone(job_id, last=last)
        if self._observer.vanished(job_id):
            self._freshness.lost(job_id, self._monotonic())
        else:
            self._again_whole(job_id)

    def _again_whole(self, job_id: int) -> None:
        self._again(job_id)
        for slot in self._tables.slots_of(job_id):
            self._again(slot)

    def decide(self, key: Key, now: float) -> Decision[Effect] | None:
        """The verdict on one unit; None until a poll has ended that its last write or its loss concerns."""
        if not self._freshness.allows(key):
            return None
        unit, decision = self._judged(key, now)
        self._decided[key] = now
        self._remember(unit, decision, now)
        return decision if key in self.said else msgspec.structs.replace(decision, gone=True)

    def current(self, key: Key, effect: Effect) -> bool:
        """Decide again on what is known now: the effect must still be wanted."""
        if type(effect).__name__ in _SPOKEN:
            return True
        _, again = self._judged(key, self._decided.get(key, self._clock()))
        return effect in again.effects

    def _judged(self, key: Key, now: float) -> tuple[Unit, Decision[Effect]]:
        """The unit with the verdict on it, which is reached with the unit in the order of asking."""
        self._observer.place(key, now=now)
        unit = self._observer.unit(key)
        decision = decide(unit, now=now)
        self._observer.settle(unit, State(decision.state))
        if self._observer.relief.retry(key) is not unit.retry:  # its place among those that are kept back
            return self._judged(key, now)
        return unit, decision

    async def act(self, key: Key, effect: Effect) -> None:
        """Carry out one effect, and note a write to Slurm even if it failed: it may have worked."""
        try:
            await self._actor.act(effect)
        finally:
            if isinstance(effect, _SLURM_EFFECTS):
                self._freshness.wrote(key, self._monotonic())
                self._on_wrote(*_record_of(key, effect))

    def observe_outcome(self, outcome: Outcome[Key]) -> None:
        """Note what people were told, and when JobSets were made or refused."""
        if outcome.key is None:
            return
        if outcome.effect == CreateJobSet.__name__:
            self._noted_creation(outcome)
        if outcome.effect == PinAndRelease.__name__ and outcome.result is Result.DONE:
            self._stages.released(outcome.key, self._clock())
        if outcome.effect == "SetText" and outcome.result is Result.DONE:
            self._observer.spoke(outcome.key, self._clock())

    def _noted_creation(self, outcome: Outcome[Key]) -> None:
        key = outcome.key
        if key is None:
            return
        if outcome.result is Result.DONE:
            self._observer.created(job_of(key))
            self._stages.created(key, self._clock())
        elif isinstance(outcome.error, Terminal):
            self._observer.denied(job_of(key), outcome.error.reason, str(outcome.error), now=self._clock())
            self._again(key)

    def _remember(self, unit: Unit, decision: Decision[Effect], now: float) -> None:
        state, before = State(decision.state), self.said.get(unit.key)
        since = before.since if before and before.state is state else now
        self._observer.remember(unit, state, now=now)
        if before is None or before.state is not state:
            self._stages.entered(unit.key, state, now)
            self._on_entered(unit, state)
            self.last_move = now
            if state is State.RUNNING:
                self.last_start = now
        if unit.key not in self._observer.seen:
            self.said.pop(unit.key, None)
            self._decided.pop(unit.key, None)
            self._stages.forget(unit.key)
            self.census.remove(unit.key)
        else:
            self.census.put(unit.key, Group.of(unit, state))
            if state in _FAST and (before is None or before.state not in _FAST):
                self._on_moving()
            self.said[unit.key] = Said(state=state, reason=decision.reason, text=decision.text, since=since)
        for job_id in self._observer.turns.called():
            if job_id != unit.key and self._waits(job_id):
                self._again(job_id)
        for slot in unwanted_slots(unit, now):
            self._again(slot)

    def _waits(self, job_id: int) -> bool:
        said = self.said.get(job_id)
        return said is not None and (said.state is State.TURN or bool(self._tables.slots_of(job_id)))

    def _judge(self, *, lost: int) -> None:
        owned = self._tables.jobs_with_jobsets()
        gone = lost + sum(1 for job_id in owned if self._observer.vanished(job_id))
        verdict = self._guard.judge(gone=gone, owned=len(owned), now=self._clock())
        if verdict is not self._observer.deletion:
            self._observer.deletion = verdict
            for job_id in owned:
                self._again_whole(job_id)

    @property
    def guarded(self) -> bool:
        """Whether the mass-action guard refuses deletions now."""
        return self._observer.deletion is Deletion.REFUSED


def _record_of(key: Key, effect: Effect) -> tuple[int, ...]:
    """Whose record an effect has changed. Which tasks a slot's nodes had is seen by their states."""
    named = getattr(effect, "job_id", None)
    if isinstance(named, int):
        return (named,)
    return (key,) if isinstance(key, int) else ()
