"""A JobSet that the API server will not have: people are told why, and it heals by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.adversary import Writes, all_well, bridge, spied, until

from k8s_bridge.core import naming
from k8s_bridge.sandbox.apiserver.faults import Answer, Rule
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import MIXING, NAMESPACE
from k8s_bridge.slurm import denials

WEBHOOK = 'admission webhook "policy.example.com" denied the request: no GPUs on Mondays'


@pytest.mark.parametrize(("code", "reason"), [(403, "Forbidden"), (422, "Invalid")])
async def test_a_webhooks_refusal_is_told_and_heals(
    code: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(denials, "LONGEST_PAUSE", 1.0)
    writes = Writes()
    async with World.start(WorldConfig(directory=tmp_path, slurm=Backend.FAKE)) as world:
        denial = Rule(fault=Answer(code=code, reason=reason, message=WEBHOOK), verb="create", kind=JOBSETS)
        world.server.faults.add(denial)
        with spied():
            async with bridge(world, writes=writes):
                job = await world.sbatch(JobRequest(seconds=0.2))
                await world.until(
                    lambda: job in world.jobs and "no GPUs on Mondays" in world.jobs[job].text,
                    what="the refusal is written on the job",
                )
                await until(lambda: world.server.faults.hits(denial) >= 3, what="it is tried again")
                assert writes.counts["update_job"] <= 2, "the same text is not written for each attempt"
                world.server.faults.clear()
                await all_well(world, job)


OUR_LABELS = {naming.MANAGED_BY: "k8s-bridge", naming.WORKLOADMIXING: MIXING, naming.SLURM_JOB_ID: "1"}


@pytest.mark.parametrize("labels", [{}, OUR_LABELS], ids=["name", "name and labels"])
async def test_a_jobset_of_our_name_is_left_alone_and_waited_out(
    labels: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(denials, "LONGEST_PAUSE", 1.0)
    async with World.start(WorldConfig(directory=tmp_path, slurm=Backend.FAKE)) as world:
        metadata = {"namespace": NAMESPACE, "name": "slurm-job-1", "labels": labels}
        theirs = world.storage.create(JOBSETS, {"metadata": metadata, "spec": {"replicatedJobs": []}})
        async with bridge(world):
            job = await world.sbatch(JobRequest(seconds=0.2))
            await world.until(
                lambda: job in world.jobs and "NameTaken" in world.jobs[job].text, what="it is told"
            )
            there = world.storage.get(JOBSETS, NAMESPACE, "slurm-job-1")
            assert there["metadata"]["uid"] == theirs["metadata"]["uid"]
            world.delete(JOBSETS, "slurm-job-1")
            await all_well(world, job)
