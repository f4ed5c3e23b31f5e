"""A WorkloadMixing is deleted while its jobs run and wait: what its deletionPolicy promises."""

from __future__ import annotations

import pytest

from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, WORKLOADMIXINGS
from k8s_bridge.sandbox.world import JobRequest, World
from k8s_bridge.sandbox.world.config import MIXING, NAMESPACE
from support.e2e.fixtures import MakeWorld
from support.e2e.keeper import quiet

pytestmark = pytest.mark.asyncio(loop_scope="module")

FINALIZER = "k8s-bridge.x-k8s.io/drain"


async def one_runs_and_one_waits(world: World, *, seconds: float) -> tuple[int, int]:
    running = await world.sbatch(JobRequest(ntasks=8, seconds=seconds))
    await world.until_state(running, "RUNNING")
    waiting = await world.sbatch(JobRequest(ntasks=8, seconds=0.3))
    await world.until(lambda: "Queued" in world.text(waiting), what="the second job waits for quota")
    return running, waiting


def finalizers(world: World) -> list[str]:
    found = world.storage.find(WORKLOADMIXINGS, NAMESPACE, MIXING)
    return list(found["metadata"].get("finalizers") or ()) if found else []


async def test_drain_lets_running_jobs_end_and_then_goes(make_world: MakeWorld):
    async with make_world(spec={"deletionPolicy": "Drain"}) as world:
        await world.bridge()
        await world.until(lambda: finalizers(world) == [FINALIZER], what="the finalizer is set")
        running, waiting = await one_runs_and_one_waits(world, seconds=6.0)

        world.delete(WORKLOADMIXINGS, MIXING)

        await world.until(lambda: not world.of_job(JOBSETS, waiting), what="the waiting job's JobSet is gone")
        await world.until(
            lambda: "NotManaged" in world.text(waiting), what="the waiting job says that nobody serves it"
        )
        assert world.jobs[waiting].held
        assert world.jobs[running].running
        late = await world.sbatch(JobRequest(seconds=0.3))
        await world.until_state(running, "COMPLETED")
        await world.until(
            lambda: world.storage.find(WORKLOADMIXINGS, NAMESPACE, MIXING) is None, what="the mixing is gone"
        )
        assert world.jobs[running].restarts == 0
        assert world.storage.list(JOBSETS, namespace=NAMESPACE) == []
        assert world.jobs[late].held
        for job_id in (waiting, late):
            await world.scancel(job_id)
        await quiet(world)


async def test_a_changed_mind_takes_the_finalizer_away(make_world: MakeWorld):
    async with make_world(spec={"deletionPolicy": "Drain"}) as world:
        await world.bridge()
        await world.until(lambda: finalizers(world) == [FINALIZER], what="the finalizer is set")
        world.storage.patch(WORKLOADMIXINGS, NAMESPACE, MIXING, {"spec": {"deletionPolicy": "Orphan"}})
        await world.until(lambda: finalizers(world) == [], what="the finalizer is gone")


async def test_orphan_leaves_everything_to_whoever_comes_next(make_world: MakeWorld):
    async with make_world() as world:
        await world.bridge()
        running, waiting = await one_runs_and_one_waits(world, seconds=4.0)
        mixing = world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)

        world.delete(WORKLOADMIXINGS, MIXING)

        await world.until_state(running, "COMPLETED")
        assert world.of_job(JOBSETS, running), "nobody is there to give it back"
        assert world.jobs[waiting].held
        meta = {"namespace": NAMESPACE, "name": MIXING}
        world.storage.create(WORKLOADMIXINGS, {"metadata": meta, "spec": mixing["spec"]})
        await world.until_state(waiting, "COMPLETED")
        await quiet(world)
        assert world.jobs[running].restarts == 0
