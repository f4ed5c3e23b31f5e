"""Whatever people, Kueue, machines and networks do, in any order: nothing forbidden, and every job ends well.

The whole bridge talks HTTP to a whole world, in this process and on virtual time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from support.adversary import spied
from support.simulation import Simulation, simulation
from support.virtual import virtual_time

from k8s_bridge.sandbox.faults import FAULTS, Fault
from k8s_bridge.sandbox.slurm_fake import SlurmError
from k8s_bridge.sandbox.world import JobRequest, check, check_now
from k8s_bridge.sandbox.world.config import HIGH, TEAM_B, URGENT

LEAST = 500
"""Faults that the whole run must have injected."""
PATIENCE = 3600.0
"""Virtual seconds within which everything ends well after the last fault: back-offs are minutes long."""
SHAPES = (
    JobRequest(name="single"),
    JobRequest(name="nodes", nodes="2", ntasks=4),
    JobRequest(name="range", nodes="1-2"),
    JobRequest(name="large", ntasks=8),
    JobRequest(name="urgent", ntasks=4, partition=URGENT),
    JobRequest(name="array", array="0-2"),
)
struck: Counter[str] = Counter()


class AnyFaults(RuleBasedStateMachine):
    """A world with a bridge. Rules are what may happen; after each some time passes."""

    jobs = Bundle("jobs")

    def __init__(self) -> None:
        super().__init__()
        self._held: set[int] = set()
        self._cancelled: set[int] = set()
        self._plain = 0
        self._ends = ExitStack()
        self._ends.enter_context(spied())
        self._runner = self._ends.enter_context(virtual_time())

    @initialize(seed=st.integers(0, 3), patient=st.booleans())
    def begins(self, seed, patient) -> None:
        self._stack = AsyncExitStack()
        world = simulation(seed=seed, spec={"drainOnPreemption": patient})
        self.sim: Simulation = self.run(self._stack.enter_async_context(world))

    @rule(target=jobs, shape=st.sampled_from(SHAPES), seconds=st.sampled_from([0.1, 1.0, 4.0]))
    def submit(self, shape, seconds) -> int:
        return self.run(self.sim.world.sbatch(replace(shape, seconds=seconds)))

    @rule(seconds=st.sampled_from([0.1, 0.5, 2.0]), cpus=st.integers(1, 8))
    def a_kubernetes_job_comes(self, seconds, cpus) -> None:
        self._plain += 1
        self.sim.world.submit_job(
            f"plain-{self._plain}", queue=TEAM_B, priority=HIGH, cpus=cpus, seconds=seconds
        )

    @rule(job=jobs)
    def scancel(self, job) -> None:
        self._cancelled.add(job)
        self.done(self.sim.world.scancel(job))

    @rule(job=jobs)
    def scontrol_hold(self, job) -> None:
        self._held.add(job)
        self.done(self.sim.world.slurm.hold(job))

    @rule(job=jobs)
    def scontrol_requeue(self, job) -> None:
        self.done(self.sim.world.slurm.requeue(job))

    @rule(fault=st.sampled_from(FAULTS), seconds=st.sampled_from([0.0, 0.3, 2.0, 20.0]))
    def fault_begins(self, fault: Fault, seconds) -> None:
        self.run(self.sim.faults.begin(fault))
        self.pass_time(seconds)

    @rule(fault=st.sampled_from(FAULTS), seconds=st.sampled_from([0.5, 3.0]))
    def fault_comes_and_goes(self, fault: Fault, seconds) -> None:
        self.fault_begins(fault, seconds)
        self.run(self.sim.faults.end(fault.name))

    @rule()
    def faults_end(self) -> None:
        self.run(self.sim.faults.end_all())

    @rule(number=st.integers(1, 4), happens=st.booleans())
    def the_bridge_dies_at_a_write(self, number, happens) -> None:
        self.run(self.sim.bridges.kill_at_write(number, happens=happens))
        self.pass_time(1.0)
        self.run(self.sim.bridges.kill())
        struck["killed at a write"] += 1

    @rule(seconds=st.sampled_from([0.05, 0.5, 3.0, 40.0]))
    def pass_time(self, seconds) -> None:
        self.run(asyncio.sleep(seconds))

    @invariant()
    def nothing_forbidden(self) -> None:
        if hasattr(self, "sim"):
            assert [verdict for verdict in check_now(self.sim.world.timeline) if not verdict.holds] == []

    def teardown(self) -> None:
        try:
            if hasattr(self, "sim"):
                self.all_ends_well()
        finally:
            if hasattr(self, "sim"):
                self.run(self._stack.aclose())
            self._ends.close()

    def all_ends_well(self) -> None:
        """The faults pass, what its owner holds is cancelled, and each other job completes.

        Nobody releases a job here: Slurm starts it at once, on whatever is idle, before anybody could see it.
        """
        world = self.sim.world
        self.run(self.sim.faults.end_all())
        struck.update(self.sim.faults.strikes)
        for job in self._held - self._cancelled:
            self.scancel(job)
        self.run(world.until_quiet(seconds=PATIENCE))
        assert [verdict for verdict in check(world.timeline) if not verdict.holds] == []
        assert world.controllers.engine.failures == 0
        wrong = [
            str(job)
            for job in world.jobs.values()
            if job.state != "COMPLETED"
            and not (job.state == "CANCELLED" and (job.unit or job.job_id) in self._cancelled)
        ]
        assert wrong == []

    def run(self, work: Awaitable) -> object:
        async def whole() -> object:
            return await work

        return self._runner.run(whole())

    def done(self, work: Awaitable) -> None:
        """What Slurm may refuse, because the job is over or not pending."""
        with contextlib.suppress(SlurmError):
            self.run(work)


@pytest.mark.timeout(600)
def test_every_job_ends_well_whatever_happens() -> None:
    struck.clear()
    run_state_machine_as_test(
        AnyFaults,
        settings=settings(
            max_examples=60,
            stateful_step_count=20,
            derandomize=True,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
        ),
    )
    assert sum(struck.values()) >= LEAST, struck
