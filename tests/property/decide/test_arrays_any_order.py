"""An array and its slots, whatever happens in any order: nothing forbidden, and every task runs at last."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from support.array_state import ARRAY
from support.array_world import ArrayWorld

from k8s_bridge.core.errors import Conflict
from k8s_bridge.slurm.decide import decide
from k8s_bridge.slurm.unit import Key, Seen, State, Unit

HAPPENINGS = (
    ArrayWorld.kueue_admits,
    ArrayWorld.kueue_finishes_evictions,
    ArrayWorld.pods_are_made,
    ArrayWorld.nodes_register,
    ArrayWorld.pods_vanish,
    ArrayWorld.slurm_starts,
    ArrayWorld.scontrol_hold,
    ArrayWorld.scontrol_release,
    ArrayWorld.slurm_notices_lost_nodes,
)
BLOWS = (
    ArrayWorld.kueue_evicts,
    ArrayWorld.jobset_deleted,
    ArrayWorld.pod_dies,
    ArrayWorld.task_ends,
    ArrayWorld.scontrol_requeue,
)
PROGRESS = (
    ArrayWorld.kueue_finishes_evictions,
    ArrayWorld.kueue_admits,
    ArrayWorld.pods_vanish,
    ArrayWorld.pods_are_made,
    ArrayWorld.nodes_register,
    ArrayWorld.slurm_starts,
)


class AnyOrder(RuleBasedStateMachine):
    """One array. `bridge` is a pass over each unit of it that may die after any effect."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.seen: dict[Key, Seen] = {}

    @initialize(
        count=st.integers(1, 5), width=st.integers(1, 2), quota=st.integers(1, 3), limit=st.integers(0, 2)
    )
    def begins(self, count, width, quota, limit) -> None:
        self.world = ArrayWorld(count=count, width=width, quota=quota, limit=limit)

    @rule(happening=st.sampled_from(HAPPENINGS))
    def happens(self, happening) -> None:
        happening(self.world)

    @rule(blow=st.sampled_from(BLOWS), index=st.integers(0, 5))
    def strikes(self, blow, index) -> None:
        blow(self.world, index)

    @rule(rounds=st.integers(1, 6))
    def the_story_goes_on(self, rounds) -> None:
        for _ in range(rounds):
            self.all_pass()
            for happening in PROGRESS:
                happening(self.world)

    @rule(survives=st.integers(0, 3), seconds=st.sampled_from([0.05, 1.0, 700.0]))
    def bridge(self, survives, seconds) -> None:
        self.now += seconds
        self.all_pass(survives)

    @rule()
    def restart(self) -> None:
        self.seen.clear()

    @invariant()
    def one_verdict(self) -> None:
        for key in self.world.units():
            unit = self.unit(key)
            assert decide(unit, now=self.now) == decide(unit, now=self.now)

    def unit(self, key: Key) -> Unit:
        seen = self.seen.get(key)
        if isinstance(key, int):
            return self.world.array_unit(seen=seen)
        return self.world.slot_unit(key.number, seen=seen)

    def all_pass(self, survives: int = 99) -> None:
        self.now += 0.1
        for key in self.world.units():
            self.one_pass(key, survives)

    def one_pass(self, key: Key, survives: int = 99) -> State:
        decision = decide(self.unit(key), now=self.now)
        state, seen = State(decision.state), self.seen.get(key)
        if seen is None or seen.state is not state:
            self.seen[key] = Seen(state=state, since=self.now)
        for effect in decision.effects[:survives]:
            again = decide(self.unit(key), now=self.now)
            if effect not in again.effects and type(effect).__name__ not in {"Event", "SetText"}:
                break
            try:
                self.world.carry_out(key, effect)
            except Conflict:
                break
        else:
            if survives >= len(decision.effects):
                self.world.passed(key)
        return state

    def teardown(self) -> None:
        """A fair world and a living bridge end every story well."""
        if not hasattr(self, "world"):
            return
        if self.world.held_by_other:
            self.world.scontrol_release()
        for _ in range(150):
            self.all_pass()
            self.now += 20.0
            for happening in PROGRESS:
                happening(self.world)
            self.world.slurm_notices_lost_nodes()
            self.all_pass()
            self.world.task_ends(0)
            if self.world.over == set(range(self.world.count)) and self.world.units() == [ARRAY]:
                break
        assert self.world.over == set(range(self.world.count)), self.world
        assert self.world.units() == [ARRAY], self.world
        assert self.one_pass(ARRAY) is State.DONE


AnyOrder.TestCase.settings = settings(
    max_examples=300, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAnyOrder = AnyOrder.TestCase
