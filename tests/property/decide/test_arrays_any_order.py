"""An array and its slots, whatever happens in any order: nothing forbidden, and every task runs at last."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from support.array_story import BLOWS, HAPPENINGS, ArrayStory
from support.array_world import ArrayWorld

from k8s_bridge.slurm.decide import decide


class AnyOrder(RuleBasedStateMachine):
    """One array. `bridge` is a pass over each unit of it that may die after any effect."""

    @initialize(
        count=st.integers(1, 5),
        width=st.integers(1, 2),
        quota=st.integers(1, 3),
        limit=st.integers(0, 2),
        patient=st.booleans(),
    )
    def begins(self, **world) -> None:
        self.story = ArrayStory(ArrayWorld(**world))

    @rule(happening=st.sampled_from(HAPPENINGS))
    def happens(self, happening) -> None:
        happening(self.story.world)

    @rule(blow=st.sampled_from(BLOWS), index=st.integers(0, 5))
    def strikes(self, blow, index) -> None:
        blow(self.story.world, index)

    @rule(rounds=st.integers(1, 6))
    def the_story_goes_on(self, rounds) -> None:
        self.story.goes_on(rounds)

    @rule(survives=st.integers(0, 3), seconds=st.sampled_from([0.05, 1.0, 40.0, 700.0]))
    def bridge(self, survives, seconds) -> None:
        self.story.now += seconds
        self.story.all_pass(survives)

    @rule()
    def restart(self) -> None:
        self.story.seen.clear()

    @invariant()
    def one_verdict(self) -> None:
        for key in self.story.world.units():
            unit = self.story.unit(key)
            assert decide(unit, now=self.story.now) == decide(unit, now=self.story.now)

    def teardown(self) -> None:
        if hasattr(self, "story"):
            self.story.ends_well()


AnyOrder.TestCase.settings = settings(
    max_examples=300, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAnyOrder = AnyOrder.TestCase
