"""The Ray bridge as the loop sees it: units in, decisions out, effects carried out and noted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from k8s_bridge.core.decision import Decision
from k8s_bridge.core.effects import Event
from k8s_bridge.core.errors import Terminal
from k8s_bridge.ray.decide import decide
from k8s_bridge.ray.effects import CreateWorkers, Effect
from k8s_bridge.ray.observe import Observer
from k8s_bridge.ray.tables import Tables
from k8s_bridge.ray.unit import Key, State
from k8s_bridge.runtime.controller import Outcome, Result


class Acting(Protocol):
    """What carries effects out."""

    async def act(self, key: Key, effect: Effect) -> None:
        """Carry out one effect; raises Retry, Conflict or Terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The last verdict on a unit, for people."""

    state: State
    reason: str
    text: str
    since: float


class RayController:
    """Implements runtime.controller.Controller for inner RayJobs."""

    def __init__(  # noqa: PLR0913  # its collaborators, by keyword
        self,
        *,
        name: str,
        tables: Tables,
        observer: Observer,
        actor: Acting,
        blocked: Callable[[], str],
        clock: Callable[[], float],
        entered: Callable[[Key, State, float], None],
    ) -> None:
        self.name = name
        self.said: dict[Key, Said] = {}
        self._tables = tables
        self._observer = observer
        self._actor = actor
        self._blocked = blocked
        self._clock = clock
        self._entered = entered
        self._decided: dict[Key, float] = {}
        self._again: Callable[[Key], None] = lambda _: None

    def on_again(self, again: Callable[[Key], None]) -> None:
        """Call `again` with each unit that must be looked at although none of its rows changed."""
        self._again = again

    def blocked(self) -> str:
        """Why nothing may be decided now."""
        return self._blocked()

    def keys(self) -> Iterable[Key]:
        """Every unit that any source knows of."""
        return self._tables.keys() | self.said.keys()

    def states(self) -> Counter[State]:
        """How many units are in each state."""
        return Counter(said.state for said in self.said.values())

    def oldest(self) -> dict[str, float]:
        """By state: seconds for which the oldest unit has been in it."""
        now, since = self._clock(), dict[str, float]()
        for said in self.said.values():
            since[said.state.value] = min(said.since, since.get(said.state.value, said.since))
        return {state: max(0.0, now - began) for state, began in since.items()}

    def decide(self, key: Key, now: float) -> Decision[Effect]:
        """The verdict on one unit."""
        unit = self._observer.unit(key)
        decision = decide(unit, now=now)
        state, before = State(decision.state), self.said.get(key)
        self._observer.remember(unit, state, now=now)
        self._decided[key] = now
        if before is None or before.state is not state:
            self._entered(key, state, now)
        if key not in self._observer.seen:
            self.said.pop(key, None)
            self._decided.pop(key, None)
        else:
            since = before.since if before and before.state is state else now
            self.said[key] = Said(state=state, reason=decision.reason, text=decision.text, since=since)
        return decision

    def current(self, key: Key, effect: Effect) -> bool:
        """Decide again on what is known now: the effect must still be wanted."""
        if isinstance(effect, Event):
            return True
        now = self._decided.get(key, self._clock())
        return effect in decide(self._observer.unit(key), now=now).effects

    async def act(self, key: Key, effect: Effect) -> None:
        """Carry out one effect."""
        await self._actor.act(key, effect)

    def observe_outcome(self, outcome: Outcome[Key]) -> None:
        """Note when JobSets were made or refused."""
        if outcome.key is None or outcome.effect != CreateWorkers.__name__:
            return
        if outcome.result is Result.DONE:
            self._observer.created(outcome.key)
        elif isinstance(outcome.error, Terminal):
            error = outcome.error
            self._observer.denied(outcome.key, error.reason, str(error), now=self._clock())
            self._again(outcome.key)
