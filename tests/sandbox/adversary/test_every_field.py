"""Every field of the spec, edited while one job runs and another waits: what it does, and nothing is lost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.adversary import bridge, side_by_side, until
from support.spec_fields import ACCOUNT, FIELDS, QOS, USER, WCKEY, Does, Edit, leaves

from api.load import load_file, parse_workloadmixing
from api.v1alpha1.workloadmixing import Metadata
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, WORKLOADMIXINGS
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import BATCH, MIXING, NAMESPACE
from k8s_bridge.slurm import reporter, session
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.parts import Parts
from k8s_bridge.slurm.policy import Policies

LONG = 600.0
SETTLED = 0.3
"""Seconds in which a JobSet that is to be made anew is gone."""
WORLDS = 6


def test_every_field_is_classified():
    assert sorted(leaves()) == sorted(FIELDS)


BASE = {
    "slurmRestURL": "https://slurm.example.com",
    "allowInsecureHTTP": True,
    "localQueue": "lq",
    "partitionMappings": [{"partitionName": BATCH, "workloadPriorityClass": "normal"}],
    "slurmd": {"image": "slurmd:1", "confServer": "ctld", "authSecretName": "auth"},
}


def laid_over(edit: Edit | None) -> dict[str, Any]:
    spec = deepcopy(BASE)
    if edit is not None:
        spec |= {"enablePrioritySync": "maxUserPriority" in edit.spec, **edit.spec}
        spec["partitionMappings"][0] |= edit.mapping  # type: ignore[index,operator]
        spec["slurmd"] |= edit.slurmd  # type: ignore[operator]
    return spec


@pytest.mark.parametrize("name", FIELDS)
def test_a_file_says_the_same_as_a_resource(name: str):
    """From there on both go one way, so that what an edit does holds for either."""
    spec = laid_over(FIELDS[name])
    metadata = {"name": "main", "namespace": "hpc"}
    file = load_file(yaml.safe_dump({"metadata": metadata, "spec": spec}))
    assert file == parse_workloadmixing({"metadata": metadata, "spec": spec})
    assert file.spec != parse_workloadmixing({"metadata": metadata, "spec": BASE}).spec


def decides(edit: Edit | None = None) -> tuple[object, ...]:
    """Everything that a spec says to the state machine about a job of no particular options."""
    spec = laid_over(edit)
    metadata = {"name": "main", "namespace": "hpc", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    policies = Policies(parse_workloadmixing({"metadata": metadata, "spec": spec}))
    stays = policies.mixing.model_copy(update={"metadata": Metadata(name="main", namespace="hpc")})
    route = Policies(stays).route(Job(job_id=1, partition=BATCH))
    assert route is not None
    wish = policies.wanted_priority(Job(job_id=1, comment="wm:prio=50"))
    return policies.partition(route), dict(policies.limits()), wish, policies.leaving


@pytest.mark.parametrize("name", [name for name, edit in FIELDS.items() if edit.does is Does.AT_ONCE])
def test_what_is_in_force_at_once_is_heeded(name: str):
    assert decides(FIELDS[name]) != decides()


_connections: ContextVar[list[str]] = ContextVar("connections")
"""Of the bridge whose task this is: several run side by side."""


@contextlib.contextmanager
def counted() -> Iterator[None]:
    """Note each time that a bridge takes up its work on a connection."""
    begin = Parts.run

    async def run(self: Parts, stopping: asyncio.Event) -> None:
        _connections.get().append("connected")
        await begin(self, stopping)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Parts, "run", run)
        yield


@dataclass
class Scene:
    """A world with a job that runs and one that waits. `good` is the spec that they were submitted under."""

    world: World
    good: Mapping[str, Any]
    runs: int = 0
    waits: int = 0

    def jobset(self, job: int) -> str:
        found = self.world.of_job(JOBSETS, job)
        return str(found[0]["metadata"]["uid"]) if found else ""

    @property
    def connections(self) -> int:
        """How often Slurm was connected to so far."""
        return len(_connections.get())

    async def put(self, spec: Mapping[str, Any]) -> None:
        """Write the spec, and wait until it is in force."""
        mixing = self.world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)
        written = self.world.storage.update(WORKLOADMIXINGS, {**mixing, "spec": deepcopy(dict(spec))})
        generation = written["metadata"]["generation"]
        await self.world.until(
            lambda: (self.world.mixing_condition("Ready") or {}).get("observedGeneration") == generation,
            what=f"generation {generation} is reported on",
        )

    def edited(self, edit: Edit) -> dict[str, Any]:
        spec = deepcopy(dict(self.good))
        spec |= edit.spec
        spec["partitionMappings"][0] |= edit.mapping
        spec["slurmd"] |= edit.slurmd
        return spec


async def begin(world: World) -> Scene:
    """Both jobs, under a spec that leaves each field its default where it can."""
    scene = Scene(world, world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)["spec"])
    good = deepcopy(dict(scene.good))
    good["partitionMappings"][0].pop("localQueue")
    scene.good = good
    await scene.put(good)
    scene.runs = await world.sbatch(JobRequest(ntasks=8, seconds=LONG))
    await world.until_state(scene.runs, "RUNNING")
    scene.waits = world.slurm.slurm.submit(  # type: ignore[attr-defined]
        run_time=0.2, user=USER, partition=BATCH, account=ACCOUNT, qos=QOS, wckey=WCKEY,
        tasks=2, tres_per_job="gres/gpu:2",
    )  # fmt: skip
    await world.until(lambda: world.workload(scene.waits), what="the other waits for quota")
    return scene


async def edit_and_back(scene: Scene, edit: Edit) -> None:
    world = scene.world
    jobset, connections = scene.jobset(scene.waits), scene.connections
    await scene.put(scene.edited(edit))
    match edit.does:
        case Does.ANEW:
            await until(lambda: scene.jobset(scene.waits) not in ("", jobset), what="it is asked for anew")
        case Does.WITHDRAWS:
            await until(lambda: not scene.jobset(scene.waits), what="it is given up")
        case _:
            if edit.loses_slurm:
                await world.until(lambda: _ready(world) == "False", what="it is said that Slurm is lost")
            await asyncio.sleep(SETTLED)
            assert scene.jobset(scene.waits) == jobset
    before = scene.jobset(scene.waits)
    await scene.put(scene.good)
    if edit.does is Does.CONNECTS:
        await until(lambda: scene.connections > connections, what="Slurm is connected to anew")
    else:
        assert scene.connections == connections
    if edit.does in (Does.ANEW, Does.WITHDRAWS):
        await until(lambda: scene.jobset(scene.waits) not in ("", before), what="it is asked for again")
    await world.until(lambda: _ready(world) == "True", what="all is well again")


def _ready(world: World) -> str:
    return str((world.mixing_condition("Ready") or {}).get("status"))


async def untouched(scene: Scene, *, running: str) -> None:
    assert scene.world.jobs[scene.runs].running
    assert scene.world.jobs[scene.runs].restarts == 0
    assert scene.jobset(scene.runs) == running


async def tell(fields: Mapping[str, Edit], directory: Path) -> None:
    _connections.set([])
    async with World.start(WorldConfig(directory=directory, slurm=Backend.FAKE)) as world, bridge(world):
        scene = await begin(world)
        running = scene.jobset(scene.runs)
        for name, edit in fields.items():
            try:
                await edit_and_back(scene, edit)
                await untouched(scene, running=running)
            except Exception as error:
                raise AssertionError(f"{name}, of which is told: {edit.does}: {error}") from error
        await world.scancel(scene.runs)
        await world.until_state(scene.waits, "COMPLETED")
        await world.until_quiet()


def shares() -> Iterator[dict[str, Edit]]:
    """The fields, dealt out to several worlds."""
    items = list(FIELDS.items())
    for number in range(WORLDS):
        yield dict(items[number::WORLDS])


@pytest.mark.timeout(400)
async def test_each_edit_does_what_the_table_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reporter, "SECONDS", 0.1)
    monkeypatch.setattr(session, "_RETRY_SECONDS", 0.2)
    with counted():
        await side_by_side(
            {f"fields {i}": partial(tell, share, tmp_path / str(i)) for i, share in enumerate(shares())}
        )
