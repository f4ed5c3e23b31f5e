"""Whatever happens, in any order, with the bridge dying at any effect: nothing forbidden, nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from support.job_world import World

from k8s_bridge.core.errors import Conflict
from k8s_bridge.slurm.decide import decide
from k8s_bridge.slurm.unit import Seen, State

HAPPENINGS = (
    World.kueue_sees,
    World.kueue_admits,
    World.kueue_evicts,
    World.kueue_finishes_eviction,
    World.workload_deleted,
    World.jobset_deleted,
    World.pods_are_made,
    World.pods_run,
    World.nodes_register,
    World.pods_vanish,
    World.slurm_starts,
    World.scontrol_hold,
    World.scontrol_hold_running,
    World.scontrol_uhold,
    World.scontrol_release,
    World.scontrol_requeue,
    World.depends,
    World.predecessor_ends,
    World.limit_is_reached,
    World.limit_is_lifted,
    World.slurm_notices_lost_node,
    World.slurmd_hangs,
)
PROGRESS = (
    World.kueue_sees,
    World.kueue_finishes_eviction,
    World.kueue_admits,
    World.pods_vanish,
    World.pods_are_made,
    World.pods_run,
    World.nodes_register,
    World.slurm_starts,
)


pytestmark = pytest.mark.timeout(400)


class AnyOrder(RuleBasedStateMachine):
    """One job. Rules are what may happen; `bridge` is one pass that may die after any effect."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.now = 1000.0
        self.seen: Seen | None = None
        self.wait = 1.0

    @rule(happening=st.sampled_from(HAPPENINGS))
    def happens(self, happening) -> None:
        happening(self.world)

    @rule(rounds=st.integers(1, 8), survives=st.sampled_from([99, 99, 99, 0, 1, 2, 3]))
    def the_story_goes_on(self, rounds, survives) -> None:
        for _ in range(rounds):
            self.one_pass()
            self.now += 0.1
            for happening in PROGRESS:
                happening(self.world)
        self.one_pass(survives)

    @rule(index=st.integers(0, 3))
    def a_pod_dies(self, index) -> None:
        self.world.pod_dies(index)

    @rule(survives=st.integers(0, 6), seconds=st.sampled_from([0.05, 1.0, 40.0, 700.0]))
    def bridge(self, survives, seconds) -> None:
        self.now += seconds
        self.one_pass(survives)

    @rule()
    def restart(self) -> None:
        self.seen = None

    @invariant()
    def one_verdict(self) -> None:
        unit = self.world.unit(seen=self.seen)
        assert decide(unit, now=self.now) == decide(unit, now=self.now)

    def one_pass(self, survives: int = 99) -> State:
        unit = self.world.unit(seen=self.seen)
        decision = decide(unit, now=self.now)
        state = State(decision.state)
        self.wait = 1.0 if decision.after is None else decision.after
        if self.seen is None or self.seen.state is not state:
            self.seen = Seen(state=state, since=self.now)
        for effect in decision.effects[:survives]:
            again = decide(self.world.unit(seen=self.seen), now=self.now)
            if effect not in again.effects and type(effect).__name__ not in {"Event", "SetText"}:
                break
            try:
                self.world.carry_out(effect)
            except Conflict:
                break
        return state

    def teardown(self) -> None:
        """A fair world and a living bridge end every story well."""
        self.world.scontrol_release()
        self.world.predecessor_ends()
        self.world.limit_is_lifted()
        for _ in range(120):
            self.one_pass()
            self.now += self.wait
            for happening in PROGRESS:
                happening(self.world)
            job = self.world.job
            if job and "RUNNING" in job.states and self.one_pass() is State.RUNNING:
                self.world.job_ends()
            self.world.purge()
            if self.one_pass() is State.DONE:
                break
        assert self.world.completed, f"never completed: {self.world.unit(seen=self.seen)}"
        assert self.world.jobset is None
        assert not self.world.nodes
        assert not self.world.cancelled_by_us


AnyOrder.TestCase.settings = settings(
    max_examples=1500, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAnyOrder = AnyOrder.TestCase
