"""One job's world and a bridge that looks at it, decides and acts, and may die after any effect."""

from __future__ import annotations

from k8s_bridge.core.errors import Conflict
from k8s_bridge.slurm.decide import decide
from k8s_bridge.slurm.effects import Effect
from k8s_bridge.slurm.unit import Seen, State
from support.job_world import World
from support.second_look import SAID, check_stands

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
    World.slurm_starts_sooner,
    World.job_ends_in_time,
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


class JobStory:
    """`passes` counts the transitions: a look, a decision, and its effects."""

    def __init__(self, *, patient: bool = False) -> None:
        self.world = World(patient=patient)
        self.seen: Seen | None = None
        self.wait = 1.0
        self.passes = 0

    @property
    def now(self) -> float:
        """Seconds; time passes when it is set."""
        return self.world.now

    @now.setter
    def now(self, seconds: float) -> None:
        self.world.now = seconds

    def goes_on(self, rounds: int, survives: int) -> None:
        """The world makes progress, and so does the bridge until it dies."""
        for _ in range(rounds):
            self.one_pass()
            self.now += 0.1
            for happening in PROGRESS:
                happening(self.world)
        self.one_pass(survives)

    def one_pass(self, survives: int = 99) -> State:
        """The bridge looks once, and dies after so many effects."""
        self.passes += 1
        unit = self.world.unit(seen=self.seen)
        decision = decide(unit, now=self.now)
        state = State(decision.state)
        self.wait = 1.0 if decision.after is None else decision.after
        if self.seen is None or self.seen.state is not state:
            self.seen = Seen(state=state, since=self.now)
        check_stands(decision, decide(self.world.unit(seen=self.seen), now=self.now))
        for effect in decision.effects[:survives]:
            again = decide(self.world.unit(seen=self.seen), now=self.now)
            if effect not in again.effects and not isinstance(effect, SAID):
                break
            try:
                self.carry_out(effect)
            except Conflict:
                break
        return state

    def carry_out(self, effect: Effect) -> None:
        self.world.carry_out(effect)

    def ends_well(self) -> None:
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
