"""Whatever happens, in any order, with the bridge dying at any effect: nothing forbidden, nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from support.job_story import HAPPENINGS, JobStory

from k8s_bridge.slurm.decide import decide

pytestmark = pytest.mark.timeout(400)


class AnyOrder(RuleBasedStateMachine):
    """One job. Rules are what may happen; `bridge` is one pass that may die after any effect."""

    @initialize(patient=st.booleans())
    def begins(self, patient) -> None:
        self.story = JobStory(patient=patient)

    @rule(happening=st.sampled_from(HAPPENINGS))
    def happens(self, happening) -> None:
        happening(self.story.world)

    @rule(rounds=st.integers(1, 8), survives=st.sampled_from([99, 99, 99, 0, 1, 2, 3]))
    def the_story_goes_on(self, rounds, survives) -> None:
        self.story.goes_on(rounds, survives)

    @rule(index=st.integers(0, 3))
    def a_pod_dies(self, index) -> None:
        self.story.world.pod_dies(index)

    @rule(survives=st.integers(0, 6), seconds=st.sampled_from([0.05, 1.0, 40.0, 700.0]))
    def bridge(self, survives, seconds) -> None:
        self.story.now += seconds
        self.story.one_pass(survives)

    @rule()
    def restart(self) -> None:
        self.story.seen = None

    @invariant()
    def one_verdict(self) -> None:
        if hasattr(self, "story"):
            unit, now = self.story.world.unit(seen=self.story.seen), self.story.now
            assert decide(unit, now=now) == decide(unit, now=now)

    def teardown(self) -> None:
        if hasattr(self, "story"):
            self.story.ends_well()


AnyOrder.TestCase.settings = settings(
    max_examples=1500, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAnyOrder = AnyOrder.TestCase
