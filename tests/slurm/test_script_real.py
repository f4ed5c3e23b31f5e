"""Reading scripts against the real sbatch and slurmctld: same record, same layout, same refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.layout_trials import started
from support.option_samples import NEEDS_A_SITE, SAMPLES
from support.script_table import COMPONENTS, NAMED, OPTIONS, SCRIPTS, VARIABLES
from support.script_trials import EVERYTHING, Judge, Trial, is_layout, lines, options

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(300)]

LICENSES = "Licenses=lic:5\n"
NODES = "NodeName=static[1-4] NodeAddr=127.0.0.1 CPUs=64 RealMemory=1000 Feature=avx,ib State=DOWN\n"
A_BATCH = 150

in_one_batch = settings(
    max_examples=2,
    deadline=None,
    phases=[Phase.generate],
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


async def judged(
    directory: Path, trials: Sequence[Trial], *, conf: str, fields: Sequence[str] = EVERYTHING
) -> tuple[list[str], int]:
    """Complaints, and how many trials sbatch took."""
    slurm = await started(directory, conf=conf)
    try:
        judge = Judge(slurm, fields=fields)
        try:
            return await judge.complaints(trials), judge.submitted
        finally:
            await judge.close()
    finally:
        await slurm.stop()


async def test_what_is_read_of_a_script_is_the_record_that_slurm_makes_of_it(tmp_path: Path) -> None:
    table = (*OPTIONS, *SCRIPTS, *VARIABLES, *COMPONENTS)
    complaints, submitted = await judged(tmp_path, table, conf=LICENSES)
    assert complaints == []
    assert submitted > len(table) // 2
    assert sum(map(is_layout, table)) > len(table) // 3


async def test_features_and_nodes_by_name_are_planned_as_from_the_record(tmp_path: Path) -> None:
    complaints, submitted = await judged(tmp_path, NAMED, conf=NODES, fields=("features", "prefer"))
    assert complaints == []
    assert submitted == len(NAMED)


async def test_every_example_of_the_documents_is_planned_as_from_the_record(tmp_path: Path) -> None:
    samples = [options(words) for name, words in SAMPLES.items() if words and name not in NEEDS_A_SITE]
    complaints, submitted = await judged(tmp_path, samples, conf=LICENSES + NODES, fields=())
    assert complaints == []
    assert submitted == len(samples)


def some(name: str, numbers: st.SearchStrategy[int]) -> st.SearchStrategy[str]:
    return st.one_of(st.just(""), st.just(""), numbers.map(lambda value: f"{name}{value}"))


small = st.integers(1, 4)
ranges = st.tuples(small, small).map(lambda ends: f"-N{min(ends)}-{max(ends)}")
option_sets = st.tuples(
    st.one_of(some("-N", small), ranges),
    some("-n", st.integers(1, 9)),
    some("-c", small),
    some("--ntasks-per-node=", small),
    some("--mincpus=", small),
    st.one_of(some("--mem=", st.integers(0, 200)), some("--mem-per-cpu=", st.integers(0, 60))),
    st.one_of(some("--gres=gpu:", small), some("--gpus-per-node=a100:", small)),
    some("--gpus=", st.integers(0, 8)),
    some("--gpus-per-task=", small),
    some("--cpus-per-gpu=", small),
    st.sampled_from(("", "", "", "", "--exclusive", "-s", "-O", "-B2", "--hint=memory_bound")),
    st.sampled_from(("", "", "", "", "--ntasks-per-gpu=2", "--mem-per-gpu=5", "--tres-per-task=cpu=2")),
).map(lambda parts: options(" ".join(filter(None, parts))))

pieces = st.sampled_from(
    (" ", " ", "\t", "\v", "'", '"', "\\", "#", ":", "-n3", "-N2", "--comment=", "hetjob", "a", "b c", "-O")
)
option_lines = st.lists(pieces, max_size=9).map(lambda found: f"#SBATCH {''.join(found)}\n")
scripts = st.lists(
    st.one_of(option_lines, option_lines, st.sampled_from(("\n", "# note\n", " #SBATCH -n5\n", "echo\n"))),
    min_size=1,
    max_size=4,
).map(lambda found: lines("".join(found)))


def batch(trials: st.SearchStrategy[Trial]) -> st.SearchStrategy[list[Trial]]:
    return st.lists(trials, min_size=A_BATCH, max_size=A_BATCH)


@given(trials=batch(option_sets))
@in_one_batch
def test_any_mix_of_options_has_the_record_of_the_real_one(
    tmp_path_factory: pytest.TempPathFactory, trials: list[Trial]
) -> None:
    complaints, submitted = asyncio.run(judged(tmp_path_factory.mktemp("slurm"), trials, conf=LICENSES))
    assert complaints == []
    assert submitted > 0


@given(trials=batch(scripts))
@in_one_batch
def test_any_lines_are_split_as_the_real_sbatch_does(
    tmp_path_factory: pytest.TempPathFactory, trials: list[Trial]
) -> None:
    complaints, submitted = asyncio.run(judged(tmp_path_factory.mktemp("slurm"), trials, conf=LICENSES))
    assert complaints == []
    assert submitted > 0
