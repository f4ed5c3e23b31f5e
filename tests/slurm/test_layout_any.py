"""Any set of options against a real slurmctld: started on exactly the planned nodes, and on nothing less.

300 sets are tried each time. KB_LAYOUT_SETS=3000 tries so many, KB_LAYOUT_SEED another choice of them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncIterator
from itertools import islice
from pathlib import Path

import pytest
from support.layout_bulk import CONF, Finding, Outcome, judge, simplest
from support.layout_sets import NOT_IN_22_05, Case, cases
from support.layout_trials import start, started, submit

from k8s_bridge.slurm.layout import Shape

SETS = int(os.environ.get("KB_LAYOUT_SETS", "300"))
SEED = int(os.environ.get("KB_LAYOUT_SEED", "1"))
A_BATCH = 150
"""Cases on one slurmctld: it slows down with the number of its nodes."""
TOLD = 5
"""Failures that are simplified: the rest mostly repeats them."""

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(max(300, SETS))]


@pytest.mark.parametrize("release", ["24.11", "22.05"])
async def test_any_set_of_options_starts_on_its_layout_and_on_no_less(release: str, tmp_path: Path) -> None:
    without = NOT_IN_22_05 if release == "22.05" else frozenset()
    drawn, found = cases(SEED, without=without), list[Finding]()
    while sum(finding.outcome is Outcome.RUNS for finding in found) < SETS:
        async for finding in findings(
            tmp_path / str(len(found)), list(islice(drawn, A_BATCH)), release=release
        ):
            found.append(finding)
    counts = Counter(finding.outcome for finding in found)
    print(f"{release}: {counts}")  # noqa: T201  # the figures of a long run
    wrong = [finding for finding in found if finding.complaint]
    simple = [await told(tmp_path / f"wrong{n}", one, release=release) for n, one in enumerate(wrong[:TOLD])]
    assert simple == [], "\n".join([f"{len(wrong)} are wrong:", *simple])
    assert counts[Outcome.REFUSED] > SETS // 20, "refusals are tried too"


async def findings(directory: Path, batch: list[Case], *, release: str) -> AsyncIterator[Finding]:
    slurm = await started(directory, release=release, conf=CONF, gpus=64)
    try:
        for finding in await judge(slurm, batch):
            yield finding
    finally:
        await slurm.stop()


async def told(directory: Path, finding: Finding, *, release: str) -> str:
    slurm = await started(directory, release=release, conf=CONF, gpus=64)
    try:
        simple = await simplest(slurm, finding)
    finally:
        await slurm.stop()
    return f"{simple.case}: {simple.complaint} (found as {finding.case})"


async def test_a_node_that_is_only_written_down_is_that_of_a_slurmd(tmp_path: Path) -> None:
    """What makes the trials above worth anything."""
    slurm = await started(tmp_path, conf=CONF)
    try:
        job = await submit(slurm, "-n3")
        shape = Shape(cpus=3, memory=100, gres=(("gpu", "a100", 2),))
        await start(slurm, job, [shape])
        line = "create nodename=written NodeAddr=127.0.0.1 State=CLOUD CPUs=3 RealMemory=100 Gres=gpu:a100:2"
        await slurm.world.run("scontrol", stdin=f"{line} Features=nodes-for-{job.job_id}\n")
        nodes = (await slurm.get("nodes/"))["nodes"]
        real, written = (
            {key: node[key] for key in PLACED_BY} for node in nodes if node["name"][:6] != "static"
        )
    finally:
        await slurm.stop()
    assert real == written


PLACED_BY = (
    "cpus",
    "boards",
    "sockets",
    "cores",
    "threads",
    "effective_cpus",
    "real_memory",
    "gres",
    "features",
    "active_features",
    "partitions",
    "temporary_disk",
    "weight",
    "tres",
)
