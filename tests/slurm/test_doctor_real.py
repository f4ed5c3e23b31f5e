"""What the doctor says of real daemons, well and ill configured."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.plugin_slurmctld import mixing

from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime.doctor.verdict import Result, Verdict, results
from k8s_bridge.sandbox.slurm_real import RealSlurm, available
from k8s_bridge.slurm.doctor.checks.slurm import SLURM
from k8s_bridge.slurm.doctor.look_slurm import Means, look

pytestmark = pytest.mark.slurm
WELL = ""
"""The sandbox's own configuration."""
ILL = """
EnforcePartLimits=ALL
JobRequeue=0
MaxNodeCount=40
MinJobAge=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
Prolog=/bin/true
ReturnToService=0
SlurmctldParameters=idle_on_node_suspend
SlurmdTimeout=0
TreeWidth=16
"""


@pytest.fixture(params=("24.11", "22.05"))
def start(request: pytest.FixtureRequest, tmp_path: Path):
    if reason := available(request.param):
        pytest.skip(reason)

    @asynccontextmanager
    async def started(extra: str) -> AsyncIterator[RealSlurm]:
        slurm = await RealSlurm.start(request.param, tmp_path, partitions=("batch",), extra_conf=extra)
        try:
            yield slurm
        finally:
            await slurm.stop()

    return started


async def examined(slurm: RealSlurm, directory: Path) -> dict[str, Result]:
    """By check; of several results of one check the worst."""
    scontrol = directory / "scontrol-of-the-cluster"
    scontrol.write_text(f'#!/bin/sh\nexec {slurm.world.enter} scontrol "$@"\n')
    scontrol.chmod(0o755)
    found = mixing("batch", slurmRestURL=slurm.rest_url, allowInsecureHTTP=True, slurmUser="")
    means = Means(token_file=slurm.token_file, scontrol=str(scontrol))
    async with KubeClient(ApiServer(base_url="http://127.0.0.1:1")) as nobody:
        sight = await look(nobody, found, means)
    worst: dict[str, Result] = {}
    for one in results(SLURM, sight, about="hpc/main"):
        if one.check not in worst or list(Verdict).index(one.verdict) > list(Verdict).index(
            worst[one.check].verdict
        ):
            worst[one.check] = one
    return worst


async def test_a_cluster_that_is_configured_well_is_well(start, tmp_path):
    async with start(WELL) as slurm:
        found = await examined(slurm, tmp_path)
    complaints = {check: one.seen for check, one in found.items() if one.verdict is not Verdict.FINE}
    by_scontrol = {"scontrol"} if found["slurm-version"].seen.startswith("Slurm 22.05") else set()
    assert set(complaints) == {"conf-submit", *by_scontrol}, complaints
    assert "slurmctld's clock agrees" in found["clock"].seen
    assert found["operator"].seen == "root administers Slurm"


async def test_each_setting_that_hurts_is_found_in_the_words_of_a_real_daemon(start, tmp_path):
    async with start(ILL) as slurm:
        slurm.token_file.write_text(slurm.mint("daemon"))
        await slurm.scontrol("update", "partitionname=batch", "state=down")
        found = await examined(slurm, tmp_path)
    bad = {check for check, one in found.items() if one.verdict is Verdict.WRONG}
    assert bad == {"operator", "partitions", "conf-limits", "conf-configless"}
    doubtful = {check for check, one in found.items() if one.verdict is Verdict.DOUBTFUL} - {"scontrol"}
    assert doubtful == {
        "conf-job-age",
        "conf-lost-nodes",
        "conf-preemption",
        "conf-prolog",
        "conf-requeue",
        "conf-return",
        "conf-submit",
        "conf-tree",
    }
    assert found["partitions"].seen == "partition batch is DOWN"


async def test_a_partition_of_all_nodes_is_found(start, tmp_path):
    async with start("PartitionName=open Nodes=ALL State=UP") as slurm:
        found = await examined(slurm, tmp_path)
    if found["slurm-version"].seen.startswith("Slurm 22.05"):
        assert found["isolation"].verdict is Verdict.UNSEEN, "its REST API does not tell"
        assert "scontrol show partition" in found["isolation"].cure
    else:
        assert found["isolation"].verdict is Verdict.DOUBTFUL
        assert "partition open has Nodes=ALL" in found["isolation"].seen
