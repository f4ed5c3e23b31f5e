"""An array's world and a bridge that looks at each unit, decides and acts, and may die at any effect."""

from __future__ import annotations

from k8s_bridge.core.errors import Conflict
from k8s_bridge.slurm.decide import decide
from k8s_bridge.slurm.effects import Effect
from k8s_bridge.slurm.seen import uid_of
from k8s_bridge.slurm.unit import Key, Seen, State, Unit
from support.array_state import ARRAY
from support.array_world import ArrayWorld
from support.second_look import SAID, check_stands

HAPPENINGS = (
    ArrayWorld.kueue_admits,
    ArrayWorld.kueue_finishes_evictions,
    ArrayWorld.pods_are_made,
    ArrayWorld.nodes_register,
    ArrayWorld.pods_vanish,
    ArrayWorld.slurm_starts,
    ArrayWorld.machines_are_uncordoned,
    ArrayWorld.scontrol_hold,
    ArrayWorld.scontrol_release,
    ArrayWorld.limit_is_reached,
    ArrayWorld.limit_is_lifted,
    ArrayWorld.slurm_notices_lost_nodes,
)
BLOWS = (
    ArrayWorld.kueue_evicts,
    ArrayWorld.jobset_deleted,
    ArrayWorld.pod_dies,
    ArrayWorld.machine_is_cordoned,
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


class ArrayStory:
    """`passes` counts the transitions: a look at one unit, a decision, and its effects."""

    def __init__(self, world: ArrayWorld) -> None:
        self.world = world
        self.seen = world.seen
        self.passes = 0

    @property
    def now(self) -> float:
        """Seconds; time passes when it is set."""
        return self.world.now

    @now.setter
    def now(self, seconds: float) -> None:
        self.world.now = seconds

    def goes_on(self, rounds: int) -> None:
        for _ in range(rounds):
            self.all_pass()
            for happening in PROGRESS:
                happening(self.world)

    def unit(self, key: Key) -> Unit:
        if isinstance(key, int):
            return self.world.array_unit(seen=self.seen.get(key))
        return self.world.slot_unit(key.number)

    def all_pass(self, survives: int = 99) -> None:
        self.now += 0.1
        for key in self.world.units():
            self.one_pass(key, survives)

    def one_pass(self, key: Key, survives: int = 99) -> State:
        self.passes += 1
        unit = self.unit(key)
        decision = decide(unit, now=self.now)
        state = State(decision.state)
        if unit.seen is None or unit.seen.state is not state:
            self.seen[key] = Seen(state=state, since=self.now, jobset=uid_of(unit.jobset))
        check_stands(decision, decide(self.unit(key), now=self.now))
        for effect in decision.effects[:survives]:
            again = decide(self.unit(key), now=self.now)
            if effect not in again.effects and not isinstance(effect, SAID):
                break
            try:
                self.carry_out(key, effect)
            except Conflict:
                break
        else:
            if survives >= len(decision.effects):
                self.world.passed(key)
        return state

    def carry_out(self, key: Key, effect: Effect) -> None:
        self.world.carry_out(key, effect)

    def ends_well(self) -> None:
        """A fair world and a living bridge end every story well."""
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
