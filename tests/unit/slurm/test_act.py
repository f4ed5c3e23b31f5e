"""What is written to a job whose owner wrote its comment after it was last polled."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from k8s_bridge.core import naming
from k8s_bridge.core.errors import Conflict
from k8s_bridge.slurm.act import Actor
from k8s_bridge.slurm.client.update import Hold, JobUpdate
from k8s_bridge.slurm.effects import (
    Acknowledge,
    Begin,
    Cancel,
    Effect,
    PinAndRelease,
    Rehold,
    SetText,
    TakeHold,
)
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.tables import make_tables

OURS = "k8s-bridge: Queued: waits for quota"
TEXT = "k8s-bridge: Other: something else"
WRITTEN = "wm:prio=500"
POLLED = Job(job_id=7, states=frozenset({"PENDING"}), held=True, features="nodes-for-7", comment=OURS)


class Slurm:
    """A slurmctld with one job, changed as it is told."""

    def __init__(self, job: Job) -> None:
        self.record = job
        self.cancelled = False

    async def job(self, job_id: int) -> Job:
        return self.record

    async def update_job(self, job_id: int, update: JobUpdate) -> None:
        fields: dict[str, Any] = {
            "comment": update.comment,
            "admin_comment": update.admin_comment,
            "features": update.constraints,
            "held": None if update.hold is None else update.hold is Hold.TAKE,
        }
        changed = {name: value for name, value in fields.items() if value is not None}
        self.record = msgspec.structs.replace(self.record, **changed)

    async def cancel(self, job_id: int, *, task: int | None = None) -> None:
        self.cancelled = True


class World:
    """A bridge's writer between its tables and a slurmctld, which may have gone on meanwhile."""

    def __init__(self, *, polled: Job, now: Job) -> None:
        self.tables = make_tables(mixing=naming.mixing_feature("ns", "wm"))
        self.tables.jobs.upsert(polled)
        self.slurm = Slurm(now)
        unused: Any = None
        self.actor = Actor(
            kube=unused,
            slurm=self.slurm,  # type: ignore[arg-type]  # only what is called here
            events=unused,
            tables=self.tables,
            namespace="ns",
            render=unused,
            clock=unused,
        )


SAYING: list[Effect] = [
    TakeHold(job_id=7, text=TEXT),
    SetText(job_id=7, text=TEXT),
    Cancel(job_id=7, text=TEXT),
    Rehold(job_id=7, constraints="", begin=Begin.AS_IT_IS, text=TEXT),
    PinAndRelease(job_id=7, constraints="nodes-for-7", nodes=("n",), text=TEXT),
]


@pytest.mark.parametrize("effect", SAYING, ids=lambda effect: type(effect).__name__)
async def test_a_comment_that_was_written_since_the_last_poll_stays(effect: Effect) -> None:
    world = World(polled=POLLED, now=msgspec.structs.replace(POLLED, comment=WRITTEN))
    await world.actor.act(effect)
    assert (world.slurm.record.comment, world.slurm.record.admin_comment) == (WRITTEN, TEXT)


@pytest.mark.parametrize("effect", SAYING[1:], ids=lambda effect: type(effect).__name__)
@pytest.mark.parametrize("comment", ["", OURS])
async def test_a_comment_that_nobody_else_wrote_says_what_the_bridge_says(
    effect: Effect, comment: str
) -> None:
    now = msgspec.structs.replace(POLLED, comment=comment)
    world = World(polled=msgspec.structs.replace(POLLED, comment="was mine"), now=now)
    await world.actor.act(effect)
    assert world.slurm.record.comment == TEXT
    assert world.slurm.cancelled is isinstance(effect, Cancel)


async def test_a_comment_that_was_written_since_is_not_answered_with_an_older_one() -> None:
    polled = msgspec.structs.replace(POLLED, comment="wm:prio=9")
    world = World(polled=polled, now=msgspec.structs.replace(POLLED, comment=WRITTEN))
    answer = Acknowledge(job_id=7, comment="wm:prio=9 wm:prio-applied=9")
    with pytest.raises(Conflict):
        await world.actor.act(answer)
    row = world.tables.jobs.get("7")
    assert world.slurm.record.comment == WRITTEN
    assert row is not None
    assert row.comment == WRITTEN, "the next decision heeds the newer wish"
    await world.actor.act(Acknowledge(job_id=7, comment=f"{WRITTEN} wm:prio-applied=500"))
    assert world.slurm.record.comment == f"{WRITTEN} wm:prio-applied=500"


STARTED = msgspec.structs.replace(POLLED, states=frozenset({"RUNNING"}), admin_comment=OURS)
"""It started just when the bridge held it."""


async def test_a_job_that_started_as_it_was_held_is_not_held_when_that_is_said_of_it() -> None:
    world = World(polled=STARTED, now=STARTED)
    await world.actor.act(SetText(job_id=7, text="k8s-bridge: Ending: preempted: …"))
    assert not world.slurm.record.held


@pytest.mark.parametrize(
    ("job", "text"),
    [
        (STARTED, "Queued: …"),
        (msgspec.structs.replace(STARTED, admin_comment="k8s-bridge: Released: on n"), "Ending: …"),
        (msgspec.structs.replace(STARTED, admin_comment="an admin's"), "Ending: …"),
        (msgspec.structs.replace(STARTED, states=frozenset({"PENDING"})), "PastKueue: …"),
    ],
    ids=["still ours", "somebody else's", "not known", "it would start"],
)
async def test_a_text_takes_off_no_other_hold(job: Job, text: str) -> None:
    world = World(polled=job, now=job)
    await world.actor.act(SetText(job_id=7, text=f"k8s-bridge: {text}"))
    assert world.slurm.record.held
