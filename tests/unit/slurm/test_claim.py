"""Slurm 22.05 takes text and hold in two calls: the bridge may die between any two of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from support.job_world import World

from k8s_bridge.core import naming
from k8s_bridge.slurm.act import Actor
from k8s_bridge.slurm.client.versions import BY_NAME, Api
from k8s_bridge.slurm.client.wire import Envelope
from k8s_bridge.slurm.client.writes import Writes
from k8s_bridge.slurm.decide import decide
from k8s_bridge.slurm.effects import CreateJobSet, TakeHold
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.tables import make_tables
from k8s_bridge.slurm.unit import State

NOW = 5000.0
WRITES = 3
OLD = BY_NAME["v0.0.38"]


class Died(Exception):
    """The bridge was killed."""


class Slurm2205:
    """Session, reads and scontrol of one world's job; the bridge dies after `last` writes."""

    def __init__(self, world: World, *, last: int) -> None:
        self._world = world
        self.left = last

    async def api(self) -> Api:
        return OLD

    async def job(self, job_id: int) -> Job:
        assert self._world.job
        return self._world.job

    async def note(self, job_id: int, *, text: str) -> None:
        self._change(admin_comment=text)

    async def ask(self, call_of: Callable[[Api], Any]) -> Any:
        assert json.loads(call_of(OLD).content) == {"hold": True}
        self._change(held=True, reason="JobHeldAdmin")
        return SimpleNamespace(call="POST", envelope=Envelope(), codes=())

    def checked(self, reply: Any) -> Envelope:
        envelope: Envelope = reply.envelope
        return envelope

    def _change(self, **fields: Any) -> None:
        if not self.left:
            raise Died
        self.left -= 1
        assert self._world.job
        self._world.job = msgspec.structs.replace(self._world.job, **fields)


async def take_hold(world: World, effect: TakeHold, *, last: int = WRITES) -> None:
    slurm: Any = Slurm2205(world, last=last)
    unused: Any = None
    actor = Actor(
        kube=unused,
        slurm=Writes(slurm, reads=slurm, scontrol=slurm),  # type: ignore[arg-type]  # only what is called here
        events=unused,
        tables=make_tables(mixing=naming.mixing_feature("ns", "wm")),
        namespace="ns",
        render=unused,
        clock=unused,
    )
    await actor.act(effect)
    assert not slurm.left


def first_of(world: World) -> Any:
    """What the bridge does next, if it takes the hold for one that it may make its own."""
    decision = decide(world.unit(), now=NOW)
    assert State(decision.state) is State.HELD, decision.text
    return decision.effects[0]


def held_at_submission() -> World:
    world = World()
    assert world.job
    assert (world.job.reason, world.job.admin_comment) == ("JobHeldUser", "")
    return world


@pytest.mark.parametrize("last", range(WRITES))
async def test_a_job_whose_hold_was_half_taken_over_is_taken_over_after_a_restart(last: int):
    world = held_at_submission()
    with pytest.raises(Died):
        await take_hold(world, first_of(world), last=last)

    effect = first_of(world)

    assert isinstance(effect, CreateJobSet if last == WRITES - 1 else TakeHold), "ours once the hold is"


async def test_a_hold_of_the_owners_is_theirs_once_ours_was_said():
    world = held_at_submission()
    await take_hold(world, first_of(world))
    assert isinstance(first_of(world), CreateJobSet)
    assert world.job
    assert world.job.admin_comment.startswith("k8s-bridge: Queued: ")
    world.job = msgspec.structs.replace(world.job, reason="JobHeldUser")
    assert State(decide(world.unit(), now=NOW).state) is State.HELD_BY_OTHER


@pytest.mark.parametrize("last", range(WRITES))
async def test_with_a_jobset_a_users_hold_is_theirs_whatever_was_said(last: int):
    """The JobSet is made after the hold became ours."""
    world = held_at_submission()
    with pytest.raises(Died):
        await take_hold(world, first_of(world), last=last)
    for effect in decide(world.unit(), now=NOW).effects:
        world.carry_out(effect)
    world.scontrol_uhold()
    assert State(decide(world.unit(), now=NOW).state) is State.HELD_BY_OTHER
