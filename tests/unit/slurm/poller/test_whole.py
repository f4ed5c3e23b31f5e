"""After an answer that may not be the whole truth everything is asked for, not only what has changed."""

from __future__ import annotations

from typing import Any

import pytest

from k8s_bridge.kube.store import Table
from k8s_bridge.slurm.client.results import Listing
from k8s_bridge.slurm.model import Job, Node
from k8s_bridge.slurm.poller.doubt import Doubt
from k8s_bridge.slurm.poller.jobs import JobMirror
from k8s_bridge.slurm.poller.nodes import NodeMirror

NODE, JOB = Node(name="n"), Job(job_id=1)
ANSWERS = [((), 0, None), ("one", 1, None), ("one", 0, 999)]
"""Items, how many could not be read, and what is asked for next."""


class Slurm:
    """Answers as told, and notes since when it was asked."""

    def __init__(self, listing: Listing[Any]) -> None:
        self.listing = listing
        self.since: list[int | None] = []

    async def _answer(self, since: int | None = None) -> Listing[Any]:
        self.since.append(since)
        return self.listing

    async def job_states(self) -> None:
        return None

    nodes = jobs = _answer


@pytest.mark.parametrize(("items", "malformed", "since"), ANSWERS, ids=["empty", "malformed", "whole"])
async def test_nodes(items: object, malformed: int, since: int | None) -> None:
    slurm = Slurm(Listing(items=(NODE,) if items else (), last_update=1000, malformed=malformed))
    mirror = NodeMirror(slurm, Table(lambda node: node.name))  # type: ignore[arg-type]
    await mirror.refresh()
    await mirror.refresh()
    assert slurm.since == [None, since]


@pytest.mark.parametrize(("items", "malformed", "since"), ANSWERS, ids=["empty", "malformed", "whole"])
async def test_jobs(items: object, malformed: int, since: int | None) -> None:
    slurm = Slurm(Listing(items=(JOB,) if items else (), last_update=1000, malformed=malformed))
    mirror = JobMirror(
        slurm,  # type: ignore[arg-type]  # only what is called here
        Table(lambda job: str(job.job_id)),
        interest=lambda: (),
        period=1.0,
        clock=lambda: 0.0,
        doubt=Doubt(clock=lambda: 0.0, report=lambda _: None),
    )
    await mirror.refresh()
    await mirror.refresh()
    assert slurm.since == [None, since]
