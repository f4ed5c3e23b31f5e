from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from k8s_bridge.sandbox.clock import ManualClock
from k8s_bridge.sandbox.slurm_fake import FakeSlurm, Settings

SETTINGS = Settings(cred_expire=120, slurmd_timeout=30, min_job_age=300, recovery=15)


class Timed:
    def __init__(self, fake: FakeSlurm, clock: ManualClock) -> None:
        self.fake = fake
        self._clock = clock

    def after(self, seconds: float) -> None:
        """Let time pass in steps, as the cluster's own ticks do."""
        while seconds > 0:
            step = min(seconds, 0.5)
            self._clock.advance(step)
            self.fake.tick()
            seconds -= step

    def states(self, job_id: int) -> list[str]:
        return self.fake.jobs[job_id].states(self.fake.cluster.now)

    def node_states(self, name: str) -> list[str]:
        return self.fake.nodes[name].states(self.fake.cluster.now)


@pytest.fixture
async def timed() -> AsyncIterator[Timed]:
    clock = ManualClock()
    async with await FakeSlurm.start(SETTINGS, clock=clock) as fake:
        yield Timed(fake, clock)


async def test_a_job_runs_as_long_as_its_script(timed: Timed) -> None:
    timed.fake.register_node("w-1", "CPUs=1")
    job_id = timed.fake.submit(hold=False, run_time=60)
    timed.after(1)
    assert timed.states(job_id) == ["RUNNING"]
    timed.after(58)
    assert timed.states(job_id) == ["RUNNING"]
    timed.after(2)
    assert timed.states(job_id)[0] == "COMPLETED"
    timed.after(1)
    assert timed.states(job_id) == ["COMPLETED"]
    assert timed.node_states("w-1") == ["IDLE", "DYNAMIC_NORM"]


async def test_the_time_limit_ends_a_job(timed: Timed) -> None:
    timed.fake.register_node("w-1", "CPUs=1")
    job_id = timed.fake.submit(hold=False, run_time=600, time_limit=1)
    timed.after(58)
    assert timed.states(job_id) == ["RUNNING"]
    timed.after(5)
    assert timed.states(job_id) == ["TIMEOUT"]


async def test_a_lost_node_is_noticed_late_and_its_job_requeued(timed: Timed) -> None:
    timed.fake.register_node("w-1", "CPUs=1")
    job_id = timed.fake.submit(hold=False, run_time=10)
    timed.after(1)
    timed.fake.lose_node("w-1")
    timed.after(12)
    assert timed.states(job_id) == ["RUNNING"]
    assert "NOT_RESPONDING" not in timed.node_states("w-1")
    timed.after(5)
    assert "NOT_RESPONDING" in timed.node_states("w-1")
    timed.after(15)
    assert timed.node_states("w-1")[0] == "DOWN"
    assert timed.states(job_id) == ["PENDING"]
    job = timed.fake.jobs[job_id]
    assert (job.held, job.restarts, job.reason.value) == (False, 1, "BeginTime")


async def test_a_requeued_job_waits_for_its_credential(timed: Timed) -> None:
    timed.fake.register_node("w-1", "CPUs=1")
    job_id = timed.fake.submit(hold=False, run_time=1000)
    timed.after(1)
    timed.fake.lose_node("w-1")
    timed.after(31)
    timed.fake.register_node("w-2", "CPUs=1")
    timed.after(115)
    assert timed.states(job_id) == ["PENDING"]
    timed.after(10)
    assert timed.states(job_id) == ["RUNNING"]
    assert timed.fake.jobs[job_id].nodes == ("w-2",)


async def test_finished_jobs_are_purged_and_held_ones_never(timed: Timed) -> None:
    timed.fake.register_node("w-1", "CPUs=1")
    done, held = timed.fake.submit(hold=False), timed.fake.submit()
    timed.after(299)
    assert set(timed.fake.jobs) == {done, held}
    timed.after(10)
    assert set(timed.fake.jobs) == {held}


async def test_nothing_happens_while_slurmctld_is_away_and_slurmds_keep_trying(timed: Timed) -> None:
    job_id = timed.fake.submit()
    timed.fake.stop_controller()
    timed.fake.register_node("w-1", "CPUs=1")
    timed.after(5)
    assert (timed.states(job_id), dict(timed.fake.nodes)) == (["PENDING"], {})
    timed.fake.jobs[job_id].priority = 1
    timed.fake.cluster.file(timed.fake.jobs[job_id])
    timed.fake.start_controller()
    timed.after(0.5)
    assert timed.states(job_id) == ["RUNNING"]


async def test_an_array_keeps_to_its_limit_and_its_id(timed: Timed) -> None:
    timed.fake.register_node("w-1", "CPUs=8 RealMemory=8000")
    array = timed.fake.submit(hold=False, run_time=10, array="1-5%2", memory_per_node=100)
    timed.after(1)
    running = timed.fake.cluster.running
    assert sorted(job.array_task for job in running.values()) == [1, 2]
    timed.after(50)
    tasks = list(timed.fake.cluster.array(array))
    assert sorted(job.array_task for job in tasks) == [1, 2, 3, 4, 5]
    assert {job.state.value for job in tasks} == {"COMPLETED"}
    assert timed.fake.jobs[array].array_task == 5


async def test_a_node_counts_what_its_jobs_hold(timed: Timed) -> None:
    timed.fake.register_node("w-1", "CPUs=4 RealMemory=4000 Gres=gpu:4")
    timed.fake.submit(hold=False, run_time=10, memory_per_node=1900, tres_per_node="gres/gpu:1")
    timed.after(1)
    node = timed.fake.nodes["w-1"]
    assert (node.free_cpus, node.free_memory, node.free_gres(0)) == (3, 2100, 3)
    assert timed.node_states("w-1")[0] == "MIXED"
    timed.after(20)
    assert (node.free_cpus, node.free_memory, node.free_gres(0)) == (4, 4000, 4)
