"""A slurmd that hangs in a living pod: Slurm requeues its job, which must not wait for that node for ever."""

from __future__ import annotations

from support.job_world import World

from k8s_bridge.slurm.decide import decide
from k8s_bridge.slurm.effects import Rehold
from k8s_bridge.slurm.unit import State

NOW = 5000.0


def one_pass(world: World) -> State:
    decision = decide(world.unit(), now=NOW)
    for effect in decision.effects:
        world.carry_out(effect)
    return State(decision.state)


def running() -> World:
    world = World()
    one_pass(world)
    world.kueue_sees()
    world.kueue_admits()
    world.pods_are_made()
    world.pods_run()
    world.nodes_register()
    one_pass(world)
    world.slurm_starts()
    one_pass(world)
    return world


def test_the_job_gets_new_capacity():
    world = running()
    before = world.jobset

    world.slurmd_hangs()

    decision = decide(world.unit(), now=NOW)
    assert (State(decision.state), type(decision.effects[0])) == (State.LOST, Rehold)
    for _ in range(3):
        one_pass(world)
        world.pods_vanish()
    assert world.jobset is not None
    assert world.jobset != before
    assert world.job is not None
    assert world.job.held
