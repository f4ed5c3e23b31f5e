"""The layout engine against a real slurmctld: what it advertises is what a job starts on, and needs."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from k8s_bridge.sandbox.slurm_real import CommandFailed, RealSlurm, SlurmdProcess, available
from k8s_bridge.slurm.jobset import slurm_conf
from k8s_bridge.slurm.layout import Exclusive, Layout, NodeShape, Refusal, Shape, plan
from k8s_bridge.slurm.model import Job

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(300)]
VIRTUAL = NodeShape(cpus=4, memory=1000, gpus=4)
UNSIZED = NodeShape(cpus=4, gpus=4)
AT_A_TIME = 8
JUDGED = {"Resources", "PartitionConfig", "BadConstraints", "PartitionNodeLimit", "ReqNodeNotAvail"}
_GRES_CONF = "Name=gpu Type=a100 File=/srv/dev/nvidia[0-7]\n"


def number(raw: Any) -> int | None:
    if isinstance(raw, dict):
        return raw["number"] if raw["set"] and not raw["infinite"] else None
    return raw


def words(raw: str | list[str]) -> set[str]:
    """States as a set; 22.05 has one word, and a node's is in small letters."""
    return {word.upper() for word in ([raw] if isinstance(raw, str) else raw)}


def job_of(raw: dict[str, Any]) -> Job:
    """The fields that a layout rests on, from a record of v0.0.42 or v0.0.38."""
    shared = raw.get("shared") or ""
    return Job(
        job_id=raw["job_id"],
        features=raw["features"] or "",
        tasks=number(raw["tasks"]),
        cpus=number(raw["cpus"]),
        node_count=number(raw["node_count"]),
        max_nodes=number(raw["max_nodes"]) or None,
        cpus_per_task=number(raw.get("cpus_per_task")),
        tasks_per_node=number(raw["tasks_per_node"]) or None,
        min_cpus_per_node=number(raw["minimum_cpus_per_node"]),
        memory_per_node=number(raw["memory_per_node"]),
        memory_per_cpu=number(raw["memory_per_cpu"]),
        tres_per_job=raw["tres_per_job"],
        tres_per_node=raw["tres_per_node"],
        tres_per_task=raw["tres_per_task"],
        cpus_per_tres=raw["cpus_per_tres"],
        memory_per_tres=raw["memory_per_tres"],
        tres_request=raw["tres_req_str"],
        exclusive=shared if isinstance(shared, str) else "".join(shared),
        flags=frozenset(raw["flags"]),
        threads_per_core=number(raw["threads_per_core"]),
        licenses=raw["licenses"],
    )


async def record(slurm: RealSlurm, job_id: int) -> dict[str, Any]:
    (raw,) = (await slurm.get(f"job/{job_id}"))["jobs"]
    return dict(raw)


async def submit(slurm: RealSlurm, options: str) -> Job:
    job_id = await slurm.sbatch("--hold", *shlex.split(options), "--wrap=sleep 60")
    return job_of(await record(slurm, job_id))


async def post(slurm: RealSlurm, path: str, body: dict[str, Any]) -> None:
    headers = {"X-SLURM-USER-NAME": "root", "X-SLURM-USER-TOKEN": slurm.token}
    async with httpx.AsyncClient(base_url=slurm.rest_url, headers=headers, timeout=20) as client:
        await client.post(f"/slurm/{slurm.release.api_version}/{path}", json=body)


async def start(slurm: RealSlurm, job: Job, shapes: Iterable[Shape]) -> list[SlurmdProcess]:
    """One slurmd for each shape, registered and idle."""
    features = (f"nodes-for-{job.job_id}",)
    pods = [
        slurm.slurmd(f"j{job.job_id}-{index}", slurm_conf(shape, features=features))
        for index, shape in enumerate(shapes)
    ]
    wanted = {pod.name for pod in pods}
    async with asyncio.timeout(40):
        while True:
            nodes = (await slurm.get("nodes/")).get("nodes", [])
            idle = {node["name"] for node in nodes if words(node["state"]) <= {"IDLE", "DYNAMIC_NORM"}}
            if wanted <= idle:
                return pods
            await asyncio.sleep(0.1)


async def outcome(slurm: RealSlurm, job: Job, shapes: Iterable[Shape]) -> tuple[str, int]:
    """(RUNNING or why not, nodes) after pin and release on nodes of `shapes`; everything is removed again."""
    pods = await start(slurm, job, shapes)
    await post(slurm, f"job/{job.job_id}", {"constraints": f"nodes-for-{job.job_id}", "hold": False})
    async with asyncio.timeout(40):
        while True:
            raw = await record(slurm, job.job_id)
            if "RUNNING" in words(raw["job_state"]):
                result = "RUNNING"
                break
            if raw["state_reason"] in JUDGED:
                result = raw["state_reason"]
                break
            await asyncio.sleep(0.1)
    await slurm.world.run("scancel", str(job.job_id))
    await asyncio.gather(*(pod.kill() for pod in pods))
    for pod in pods:
        await slurm.scontrol("update", f"NodeName={pod.name}", "State=DOWN", "Reason=test")
        await slurm.scontrol("delete", f"NodeName={pod.name}")
    return result, number(raw["node_count"]) or 0


def shapes_of(layout: Layout) -> list[Shape]:
    return [group.shape for group in layout.groups for _ in range(group.count)]


def shrunk(layout: Layout) -> dict[str, list[Shape]]:
    """The layout with a node, a CPU, a MiB or a GRES less, where there is one to take."""
    shapes = shapes_of(layout)
    first, rest = shapes[0], shapes[1:]
    fewer = {}
    if rest:
        fewer["node"] = shapes[:-1]
    if first.cpus > 1:
        fewer["cpu"] = [replace(first, cpus=first.cpus - 1), *rest]
    if first.memory > 1:
        fewer["memory"] = [replace(first, memory=first.memory - 1), *rest]
    if first.gres:
        (name, kind, count), *others = first.gres
        less = ((name, kind, count - 1),) if count > 1 else ()
        fewer["gres"] = [replace(first, gres=(*less, *others)), *rest]
    return fewer


async def check_runs(slurm: RealSlurm, options: str, virtual: NodeShape | None) -> str:
    """ "" when the job runs on exactly the advertised nodes or is refused; else what went wrong."""
    job = await submit(slurm, options)
    layout = plan(job, node_shape=virtual, exclusive=Exclusive.AS_ASKED)
    if isinstance(layout, Refusal):
        return f"{options}: refused for {layout.option}: {layout.text}"
    found = await outcome(slurm, job, shapes_of(layout))
    return "" if found == ("RUNNING", layout.nodes) else f"{options}: {found} on {layout}"


async def check_needs_all(slurm: RealSlurm, options: str, virtual: NodeShape | None) -> str:
    """ "" when the job does not start with anything less than its layout; else what it did without."""
    job = await submit(slurm, options)
    layout = plan(job, node_shape=virtual, exclusive=Exclusive.AS_ASKED)
    assert isinstance(layout, Layout)
    spare = []
    for what, shapes in shrunk(layout).items():
        result, _ = await outcome(slurm, job, shapes)
        if result == "RUNNING":
            spare.append(what)
        job = await submit(slurm, options)
    return f"{options}: {spare} was not needed of {layout}" if spare else ""


async def each(check: Any, slurm: RealSlurm, cases: Iterable[tuple[str, NodeShape | None]]) -> list[str]:
    """All complaints; cases run side by side, since each has nodes of its own."""
    turn = asyncio.Semaphore(AT_A_TIME)

    async def one(options: str, virtual: NodeShape | None) -> str:
        async with turn:
            return str(await check(slurm, options, virtual))

    return [text for text in await asyncio.gather(*(one(*case) for case in cases)) if text]


async def started(directory: Path, *, release: str = "24.11") -> RealSlurm:
    if reason := available(release):
        pytest.skip(reason)
    slurm = await RealSlurm.start(release, directory, extra_conf="MaxNodeCount=1000")
    (directory / "etc/gres.conf").write_text(_GRES_CONF)
    return slurm


EXACT = [
    ("-N2 -n4", None),
    ("-N2 -n3", None),
    ("-N3 -n7 -c2", None),
    ("-n4 -c2", None),
    ("-n5 --ntasks-per-node=2", None),
    ("-N2 --ntasks-per-node=2 -c2", None),
    ("-N2 -n3 --mem-per-cpu=100", None),
    ("-N2 --mem=200", None),
    ("--mincpus=4 --mem-per-cpu=50", None),
    ("-N2 --gres=gpu:2", None),
    ("--gres=gpu:a100:3 --mem=100", None),
    ("--gpus=3", None),
    ("-N2 --gpus=3", None),
    ("-N2 -n4 --gpus=5", None),
    ("-N2 -n3 --gpus-per-task=1", None),
    ("-N2 --gpus-per-node=2 --mem-per-gpu=100", None),
    ("--cpus-per-gpu=2 --gpus=3", None),
    ("-n9", UNSIZED),
    ("-n5 -c2", UNSIZED),
    ("--gpus=6", UNSIZED),
    ("-n6 --gpus-per-task=1", UNSIZED),
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
