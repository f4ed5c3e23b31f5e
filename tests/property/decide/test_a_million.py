"""A million transitions of the tables: seeded walks, cheaper than a framework that remembers each step."""

from __future__ import annotations

import contextlib
import random
from copy import deepcopy
from dataclasses import replace

import pytest
from support import array_story, job_story
from support.array_story import ArrayStory
from support.array_world import ArrayWorld
from support.job_story import JobStory
from support.job_world import World

from k8s_bridge.core.errors import Conflict
from k8s_bridge.slurm.effects import CreateJobSet, Effect
from k8s_bridge.slurm.unit import Key

pytestmark = pytest.mark.timeout(600)

JOBS = dict.fromkeys(range(8), 100_000)
ARRAYS = dict.fromkeys(range(2), 100_000)
"""Seed -> at least so many transitions."""
STEPS = 30
"""What happens before a story is brought to its end."""


class Doubled(JobStory):
    """Now and then an effect is carried out twice, as after a lost answer: that is as good as once."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(patient=chance.random() < 0.5)
        self.chance = chance
        self.doubled = 0

    def carry_out(self, effect: Effect) -> None:
        super().carry_out(effect)
        if isinstance(effect, CreateJobSet) or self.chance.random() > 0.05:
            return  # the name alone keeps a second JobSet away
        self.doubled += 1
        once = copy_of(self.world)
        with contextlib.suppress(Conflict):
            super().carry_out(effect)
        assert self.world == once, effect


class DoubledArray(ArrayStory):
    """The same of an array."""

    def __init__(self, world: ArrayWorld, chance: random.Random) -> None:
        super().__init__(world)
        self.chance = chance
        self.doubled = 0

    def carry_out(self, key: Key, effect: Effect) -> None:
        super().carry_out(key, effect)
        if isinstance(effect, CreateJobSet) or self.chance.random() > 0.02:
            return
        self.doubled += 1
        once = deepcopy(self.world)
        with contextlib.suppress(Conflict):
            super().carry_out(key, effect)
        assert self.world == once, effect


def copy_of(world: World) -> World:
    return replace(
        world,
        pods=dict(world.pods),
        ends=dict(world.ends),
        nodes=dict(world.nodes),
        drained=set(world.drained),
        silent=set(world.silent),
    )


def job_steps(story: Doubled) -> None:
    chance = story.chance
    for _ in range(chance.randrange(STEPS)):
        match chance.randrange(6):
            case 0 | 1:
                chance.choice(job_story.HAPPENINGS)(story.world)
            case 2:
                story.world.pod_dies(chance.randrange(4))
            case 3:
                story.now += chance.choice((0.05, 1.0, 40.0, 700.0))
                story.one_pass(chance.randrange(7))
            case 4:
                story.goes_on(chance.randint(1, 8), chance.choice((99, 99, 0, 1, 2, 3)))
            case 5:
                story.seen = None


def array_steps(story: ArrayStory, chance: random.Random) -> None:
    for _ in range(chance.randrange(STEPS)):
        match chance.randrange(5):
            case 0:
                chance.choice(array_story.HAPPENINGS)(story.world)
            case 1:
                chance.choice(array_story.BLOWS)(story.world, chance.randrange(6))
            case 2:
                story.now += chance.choice((0.05, 1.0, 40.0, 700.0))
                story.all_pass(chance.randrange(4))
            case 3:
                story.goes_on(chance.randint(1, 6))
            case 4:
                story.seen.clear()


@pytest.mark.parametrize("seed", JOBS)
def test_jobs(seed):
    chance, passes, doubled = random.Random(seed), 0, 0
    while passes < JOBS[seed]:
        story = Doubled(chance)
        job_steps(story)
        story.ends_well()
        passes, doubled = passes + story.passes, doubled + story.doubled
    assert doubled > JOBS[seed] // 100, "effects were hardly ever doubled"


@pytest.mark.parametrize("seed", ARRAYS)
def test_arrays(seed):
    chance, passes, doubled = random.Random(seed), 0, 0
    while passes < ARRAYS[seed]:
        world = ArrayWorld(
            count=chance.randint(1, 5),
            width=chance.randint(1, 2),
            quota=chance.randint(1, 3),
            limit=chance.randint(0, 2),
            patient=chance.random() < 0.5,
        )
        story = DoubledArray(world, chance)
        array_steps(story, chance)
        story.ends_well()
        passes, doubled = passes + story.passes, doubled + story.doubled
    assert doubled > ARRAYS[seed] // 500, "effects were hardly ever doubled"


def test_they_are_a_million_together():
    assert sum(JOBS.values()) + sum(ARRAYS.values()) >= 1_000_000
