"""Jobs that wait for others."""

from __future__ import annotations

import pytest
from conformance.slurmrestd.world import World

NODE = "CPUs=8 RealMemory=8000"
MEMORY = {"set": True, "infinite": False, "number": 10}


@pytest.mark.parametrize("kind", ["afterok", "afterany"])
async def test_a_job_waits_for_another_and_then_runs(world: World, kind: str) -> None:
    await world.add_node("w-1", NODE)
    first = await world.submit("sleep 2", hold=False, memory_per_node=MEMORY)
    second = await world.submit(hold=False, memory_per_node=MEMORY, dependency=f"{kind}:{first}")
    job = await world.job_waits_for(second, "Dependency")
    assert (job["dependency"], job["hold"]) == (f"{kind}:{first}(unfulfilled)", False)
    job = await world.job_becomes(second, "RUNNING")
    assert job["dependency"] == ""


async def test_what_can_never_be_met_waits_for_ever(world: World) -> None:
    await world.add_node("w-1", NODE)
    first = await world.submit("exit 3", hold=False, memory_per_node=MEMORY)
    second = await world.submit(hold=False, memory_per_node=MEMORY, dependency=f"afterok:{first}")
    job = await world.job_waits_for(second, "DependencyNeverSatisfied")
    assert (job["dependency"], job["job_state"]) == (f"afterok:{first}(failed)", ["PENDING"])


async def test_several_conditions_are_shown_until_they_are_met(world: World) -> None:
    await world.add_node("w-1", NODE)
    ended = await world.submit("true", hold=False, memory_per_node=MEMORY)
    waiting = await world.submit()
    both = await world.submit(hold=False, dependency=f"afterany:{ended}:{waiting}")
    one = await world.submit(hold=False, dependency=f"afterany:{ended}?afterok:{waiting}")

    async def only_one_is_left() -> bool:
        return (await world.job(both))["dependency"] == f"afterany:{waiting}(unfulfilled)"

    await world.until(only_one_is_left)
    await world.job_becomes(one, "RUNNING")


async def test_a_held_jobs_dependency_is_looked_at_now_and_then(world: World) -> None:
    """Real ones do so every half a minute."""
    await world.add_node("w-1", NODE)
    first = await world.submit("sleep 1", hold=False, memory_per_node=MEMORY)
    met = await world.submit(dependency=f"afterok:{first}")
    never = await world.submit(dependency=f"afternotok:{first}")
    assert (await world.job(met))["dependency"] == f"afterok:{first}(unfulfilled)"

    async def is_met() -> bool:
        return (await world.job(met))["dependency"] == ""

    await world.until(is_met)
    assert (await world.job(met))["state_reason"] == "JobHeldUser"
    job = await world.job_waits_for(never, "JobHeldAdmin")
    assert (job["dependency"], job["hold"]) == (f"afternotok:{first}(failed)", True)
