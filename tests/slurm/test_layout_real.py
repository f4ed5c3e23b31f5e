"""The layout engine against a real slurmctld: what it advertises is what a job starts on, and needs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.layout_trials import UNSIZED, VIRTUAL, check_needs_all, check_runs, each, started

from k8s_bridge.sandbox.slurm_real import CommandFailed, RealSlurm
from k8s_bridge.slurm.layout import NodeShape

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(300)]

EXACT = [
    ("-N2 -n4", None),
    ("-N2 -n3", None),
    ("-N3 -n7 -c2", None),
    ("-n4 -c2", None),
    ("-n5 --ntasks-per-node=2", None),
    ("-N2 --ntasks-per-node=2 -c2", None),
    ("-N2 -n2 -c2 --mincpus=5", None),
    ("-N2 -c3 --mincpus=6", None),
    ("-N2 -n3 --mem-per-cpu=100", None),
    ("-N2 --mem=200", None),
    ("--mincpus=4 --mem-per-cpu=50", None),
    ("-c2 --mincpus=5 --mem-per-cpu=50", None),
    ("-N2 --gres=gpu:2", None),
    ("--gres=gpu:a100:3 --mem=100", None),
    ("--gpus=3", None),
    ("-N2 --gpus=3", None),
    ("-N2 -n4 --gpus=5", None),
    ("-N2 -n6 --gpus=3", None),
    ("-N3 -n12 --gpus=4", None),
    ("-N2 -n3 -c2 --gpus=6", None),
    ("-N2 -n3 --gpus-per-task=1", None),
    ("-N2 --gpus-per-node=2 --mem-per-gpu=100", None),
    ("--cpus-per-gpu=2 --gpus=3", None),
    ("-n9", UNSIZED),
    ("-n5 -c2", UNSIZED),
    ("-n2 --gpus=6", UNSIZED),
    ("-n6 --gpus-per-task=1", UNSIZED),
    ("-n6 --gpus=3", UNSIZED),
    ("-n12 --gpus=4", UNSIZED),
]
ASKED = [
    *EXACT,
    ("-n9", VIRTUAL),
    ("", None),
    ("-N2", None),
    ("-n2", None),
    ("-N2-4", None),
    ("-N2-4 -n6", None),
    ("-N1-3 -n4", None),
    ("-N1 -n4", None),
    ("-N4 -n2", None),
    ("-N2 -n3 --ntasks-per-node=2", None),
    ("-N2 -n4 --ntasks-per-node=4", None),
    ("--mem=0", VIRTUAL),
    ("--gres=gpu", None),
    ("--gpus=a100:2 -N2", None),
    ("--gpus=4 --gpus-per-node=2", None),
    ("--gpus=4 --gpus-per-task=2", None),
    ("-n4 --exclusive", None),
    ("-n3 --exclusive", VIRTUAL),
    ("-n6 --exclusive --mem-per-cpu=10", VIRTUAL),
    ("-N2 --exclusive --mem=100", VIRTUAL),
    ("--oversubscribe -n2", None),
    ("--tres-per-task=cpu=2,gres/gpu:1 -n2", None),
    ("-n2 --gpus-per-task=1 --cpus-per-gpu=2", None),
    ("-N2 -n4 --mem-per-gpu=50 --gpus=3", None),
    ("-n10 --mem-per-cpu=400", VIRTUAL),
    ("-n8 --gpus=8 --cpus-per-gpu=1", VIRTUAL),
    ("--time=10 --nice=5 --no-requeue --job-name=x", None),
]


@pytest.mark.parametrize("release", ["24.11", "22.05"])
async def test_jobs_start_on_exactly_the_advertised_nodes(release: str, tmp_path: Path) -> None:
    slurm = await started(tmp_path, release=release)
    cases = ASKED if release == "24.11" else [case for case in ASKED if "--tres-per-task" not in case[0]]
    try:
        assert await each(check_runs, slurm, cases) == []
    finally:
        await slurm.stop()


async def test_jobs_need_all_of_what_is_advertised(tmp_path: Path) -> None:
    slurm = await started(tmp_path)
    try:
        assert await each(check_needs_all, slurm, EXACT) == []
    finally:
        await slurm.stop()


def some(name: str, numbers: st.SearchStrategy[int]) -> st.SearchStrategy[str]:
    return st.one_of(st.just(""), numbers.map(lambda value: f"{name}{value}"))


small = st.integers(1, 3)
option_sets = st.tuples(
    some("-N", small),
    some("-n", st.integers(3, 7)),
    some("-c", small),
    some("--ntasks-per-node=", st.integers(2, 4)),
    st.one_of(
        some("--mem=", st.integers(10, 200)),
        some("--mem-per-cpu=", st.integers(10, 60)),
    ),
    st.one_of(
        some("--gres=gpu:", small),
        some("--gpus=", st.integers(3, 5)),
        some("--gpus-per-node=a100:", small),
    ),
    st.sampled_from(("", "", "--exclusive")),
).map(lambda parts: " ".join(filter(None, parts)))


async def check_any(slurm: RealSlurm, options: str, virtual: NodeShape | None) -> str:
    if "-N1 " in f"{options} ":
        virtual = None  # 24.11 does not tell -N1 -n8 from -n8, and packs only the latter
    try:
        return await check_runs(slurm, options, virtual)
    except CommandFailed:
        return ""  # sbatch itself sees that the options contradict each other


@given(cases=st.lists(st.tuples(option_sets, st.sampled_from((None, VIRTUAL))), min_size=16, max_size=16))
@settings(
    max_examples=2,
    deadline=None,
    phases=[Phase.generate],
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_any_mix_of_options_starts_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, cases: list[tuple[str, NodeShape | None]]
) -> None:
    async def run() -> list[str]:
        slurm = await started(tmp_path_factory.mktemp("slurm"))
        try:
            return await each(check_any, slurm, cases)
        finally:
            await slurm.stop()

    complaints = asyncio.run(run())
    assert [text for text in complaints if "refused for" not in text] == []
