"""The generated job_submit.lua and slurm.conf lines inside real slurmctlds."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from support.plugin_slurmctld import mixing

from k8s_bridge.core.naming import mixing_feature
from k8s_bridge.sandbox.slurm_real import CommandFailed, RealSlurm, available
from k8s_bridge.sandbox.slurm_real.world import INSIDE
from k8s_bridge.sandbox.world import Backend, World, WorldConfig
from k8s_bridge.slurm.plugin import bundle
from k8s_bridge.slurm.plugin.script import refusals

pytestmark = [pytest.mark.slurm, pytest.mark.asyncio(loop_scope="module")]

USER = "nobody"
SCRIPT = "#!/bin/sh\ntrue\n"
HELD = "PENDING JobHeldUser"
MIXING = mixing("batch", {"partitionName": "gpu", "topology": {"requiredLevel": "rack"}})
PARTITIONS = ("batch", "gpu", "other")
SITE_CONF = """
AllowSpecResourcesUsage=YES
NodeName=static NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000 TmpDisk=1000 State=DOWN
"""
"""Clients ask for core specialisation only where it is allowed; jobs that are not held need a node."""

REFUSED = {
    "--gpus-per-socket": "--gpus-per-socket=1 --sockets-per-node=1",
    "--ntasks-per-socket": "--ntasks-per-socket=2",
    "--ntasks-per-core": "--ntasks-per-core=1",
    "--ntasks-per-gpu": "--ntasks-per-gpu=2 --gpus=1",
    "--sockets-per-node": "--sockets-per-node=2",
    "--cores-per-socket": "--cores-per-socket=2",
    "--threads-per-core": "--hint=nomultithread",
    "--core-spec": "--core-spec=1",
    "--thread-spec": "--thread-spec=1",
    "--overcommit": "-n4 -O",
    "--nodelist": "-w n1",
    "--exclude": "-x n1",
    "--prefer": "--prefer=fast",
    "--constraint": "-C a|b",
    "--switches": "--switches=1",
    "--contiguous": "--contiguous",
    "--spread-job": "--spread-job",
    "--tmp": "--tmp=100",
    "--network": "--network=sn_all",
    "--bb": "--bb=x",
    "--container": "--container=/bundle",
    "--reboot": "--reboot",
    "--gres-flags=enforce-binding": "--gres-flags=enforce-binding",
    "--exclusive=topo": "--exclusive=topo",
}
UNSEEN = {"--core-spec": "24.11", "--thread-spec": "24.11"}
"""Options that scripts of releases up to this one are not shown: the bridge refuses them."""
NOT_OF_SBATCH = {"--ntasks-per-board": "24.11", "--exclusive=topo": "22.05"}
"""Options that sbatch up to this release does not have."""

ACCEPTED = [
    "",
    "--hold",
    "-n4 -c2 -N2",
    "--array=1-3%2",
    "-N2-4 -n6",
    "-N4 -n2",
    "-n5 --ntasks-per-node=2",
    "--mincpus=4 --mem-per-cpu=50",
    "-N2 --mem=200",
    "--mem=0",
    "--gres=gpu:a100:3 --mem=100",
    "-N2 -n4 --gpus=5",
    "-n8 --gpus=8 --cpus-per-gpu=1",
    "-n8 --gpus=4 --cpus-per-gpu=1",
    "-N2 --gpus-per-node=2 --mem-per-gpu=100",
    "-n2 --gpus-per-task=1 --cpus-per-gpu=2",
    "-n4 --exclusive",
    "--exclusive=user",
    "--oversubscribe -n2",
    "--use-min-nodes -N1-4",
    "--gres-flags=disable-binding --gres=gpu:1",
    "-n1 -O",
    "--time=10 --time-min=5 --nice=5 --no-requeue --job-name=x --comment=y --begin=now+1hour",
]


@pytest.fixture(scope="module", params=["24.11", "22.05"])
def release(request: pytest.FixtureRequest) -> str:
    if reason := available(request.param):
        pytest.skip(reason)
    return request.param


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def slurm(release: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RealSlurm]:
    async with cluster(release, tmp_path_factory.mktemp("slurm")) as running:
        yield running


@contextlib.asynccontextmanager
async def cluster(release: str, directory: Path, *, nudge: str = "") -> AsyncIterator[RealSlurm]:
    """A cluster with the files of the plugin; slurmctld must like every line of the fragment."""
    files = {file.name: file for file in bundle([MIXING], max_nodes=50, nudge=nudge)}
    (directory / "etc").mkdir(parents=True)
    for file in files.values():
        path = directory / "etc" / file.name
        path.write_text(file.text)
        path.chmod(file.mode)
    conf = files["slurm.conf.fragment"].text.replace("/etc/slurm/", f"{INSIDE}/etc/")
    running = await RealSlurm.start(
        release, directory, partitions=PARTITIONS, extra_conf=f"{conf}\n{SITE_CONF}"
    )
    try:
        yield running
    finally:
        await running.stop()


async def state(slurm: RealSlurm, job_id: int) -> str:
    return (await slurm.squeue("--jobs", str(job_id), "--format=%T %r")).strip()


async def error_of(slurm: RealSlurm, *options: str, user: str = USER) -> str:
    with pytest.raises(CommandFailed) as failed:
        await slurm.sbatch(*options, script=SCRIPT, user=user)
    return str(failed.value)


@pytest.mark.parametrize("options", ACCEPTED)
async def test_a_plain_sbatch_into_a_managed_partition_is_held(slurm: RealSlurm, options: str) -> None:
    job_id = await slurm.sbatch("-p", "batch", *options.split(), script=SCRIPT, user=USER)
    assert await state(slurm, job_id) == HELD


async def test_the_default_partition_is_managed_too(slurm: RealSlurm) -> None:
    assert await state(slurm, await slurm.sbatch(script=SCRIPT, user=USER)) == HELD


async def test_an_unmanaged_partition_is_left_alone(slurm: RealSlurm) -> None:
    for options in ("", "--array=1-2", "--tmp=100", "--switches=1"):
        job_id = await slurm.sbatch("-p", "other", *options.split(), script=SCRIPT, user=USER)
        assert "Held" not in await state(slurm, job_id)
        await slurm.world.run("scancel", str(job_id))


@pytest.mark.parametrize(("option", "text"), refusals().items(), ids=refusals())
async def test_a_refused_option_ends_sbatch_with_its_name_and_what_to_do(
    slurm: RealSlurm, release: str, option: str, text: str
) -> None:
    if release <= NOT_OF_SBATCH.get(option, ""):
        pytest.skip("sbatch has no such option")
    if release <= UNSEEN.get(option, ""):
        job_id = await slurm.sbatch("-p", "batch", *REFUSED[option].split(), script=SCRIPT)
        assert await state(slurm, job_id) == HELD
        return
    told = await error_of(slurm, "-p", "batch", *REFUSED[option].split(), user="root")
    assert f"{option} in partition batch: {text}" in told


async def test_switches_are_met_where_there_is_a_topology(slurm: RealSlurm) -> None:
    job_id = await slurm.sbatch("-p", "gpu", "--switches=1", script=SCRIPT, user=USER)
    assert await state(slurm, job_id) == HELD


@pytest.mark.parametrize("partition", ["batch", "other"])
async def test_nobody_can_ask_for_the_nodes_of_another_job(slurm: RealSlurm, partition: str) -> None:
    told = await error_of(slurm, "-p", partition, "-C", "nodes-for-7")
    assert "features nodes-for-* are given by the bridge" in told


async def test_an_owner_cannot_release_and_root_can(slurm: RealSlurm) -> None:
    job_id = await slurm.sbatch("-p", "batch", script=SCRIPT, user=USER)
    with pytest.raises(CommandFailed):
        await slurm.scontrol("release", str(job_id), user=USER)
    assert await state(slurm, job_id) == HELD
    await slurm.scontrol("release", str(job_id))
    assert "Held" not in await state(slurm, job_id)


async def test_an_owner_cannot_end_the_hold_by_another_nice(slurm: RealSlurm, release: str) -> None:
    job_id = await slurm.sbatch("-p", "batch", script=SCRIPT, user=USER)
    with pytest.raises(CommandFailed) if release == "22.05" else contextlib.nullcontext():
        await slurm.scontrol("update", f"jobid={job_id}", "nice=100", user=USER)
    assert (await slurm.squeue("--jobs", str(job_id), "--format=%Q")).strip() == "0"


async def move(slurm: RealSlurm, job_id: int, *, tries: int = 50) -> None:
    """Slurmctld refuses updates of a job that its backfill scheduler is looking at."""
    for _ in range(tries):
        try:
            await slurm.scontrol("update", f"jobid={job_id}", "partition=batch", user=USER)
        except CommandFailed as error:
            assert "Resource temporarily unavailable" in str(error)  # noqa: PT017 - the only one to be patient with
            await asyncio.sleep(0.1)
        else:
            return


async def test_a_job_that_its_owner_moves_into_a_managed_partition_is_held(slurm: RealSlurm) -> None:
    job_id = await slurm.sbatch("-p", "other", script=SCRIPT, user=USER)
    await move(slurm, job_id)
    priority = await slurm.squeue("--jobs", str(job_id), "--format=%P %Q")
    assert priority.split() == ["batch", "0"]


async def test_an_error_in_the_script_holds_managed_jobs_and_touches_no_other(
    release: str, tmp_path: Path
) -> None:
    async with cluster(release, tmp_path) as slurm:
        path = slurm.world.directory / "etc/job_submit.lua"
        path.write_text(path.read_text() + "\nstring.sub = nil\n")
        os.utime(path, (0, path.stat().st_mtime + 5))
        managed = await slurm.sbatch("-p", "batch", script=SCRIPT, user=USER)
        other = await slurm.sbatch("-p", "other", script=SCRIPT, user=USER)
        assert await state(slurm, managed) == HELD
        assert "Held" not in await state(slurm, other)


@pytest.mark.parametrize("when", ["submitted", "ended"])
async def test_a_job_nudges_the_bridge(tmp_path: Path, when: str) -> None:
    """On the host's own release: the other root folders have no curl."""
    if (reason := available("22.05")) or not shutil.which("curl"):
        pytest.skip(reason or "no curl here")
    heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not heard.done():
            heard.set_result(await reader.readuntil(b"\r\n"))
        writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, cluster("22.05", tmp_path, nudge=f"http://127.0.0.1:{port}") as slurm:
        if when == "submitted":
            with (slurm.world.directory / "etc/slurm.conf").open("a") as conf:
                conf.write("CliFilterPlugins=lua\n")
        else:
            slurm.slurmd("n1", "CPUs=1 RealMemory=100")
        job_id = await slurm.sbatch("-p", "batch", script=SCRIPT)
        if when == "ended":
            await slurm.scontrol("release", str(job_id))
        assert await asyncio.wait_for(heard, timeout=20) == b"POST /nudge HTTP/1.1\r\n"


async def k8s_bridge(*arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "k8s_bridge.cli.main", *arguments)
    assert await process.wait() == 0


INTERACTIVE = (
    ("srun", "-p", "batch", "-n1", "echo", "well"),
    ("srun", "-p", "batch", "--hold", "-n2", "--label", "echo", "well"),
    ("salloc", "-p", "urgent", "-N2", "srun", "echo", "well"),
    ("salloc", "-p", "batch", "--hold", "-n1", "srun", "echo", "well"),
)


async def test_sbatch_srun_and_salloc_go_through_kueue_held_by_their_user_or_not(tmp_path: Path) -> None:
    if reason := available("24.11"):
        pytest.skip(reason)
    config = WorldConfig(directory=tmp_path, slurm=Backend.REAL)
    async with World.start(config) as world:
        slurm = world.slurm.slurm
        etc = slurm.world.directory / "etc"
        await k8s_bridge(
            "slurm-plugin",
            "--workloadmixing=hpc/main",
            f"--kubeconfig={world.kubeconfig}",
            f"--directory={etc}",
        )
        with (etc / "slurm.conf").open("a") as conf:
            conf.write("JobSubmitPlugins=lua\n")
        await slurm.restart_controller()
        await world.bridge()

        job_id = await slurm.sbatch("-p", "batch", "-n2", script=SCRIPT)
        job = await world.until_state(job_id, "COMPLETED")
        assert "Released" in job.text

        for words in INTERACTIVE:
            said = await asyncio.wait_for(slurm.world.run(*words), timeout=60)
            assert "well" in said, words
        timeline = await world.until_quiet()
        assert len(timeline.starts) == 1 + len(INTERACTIVE)
        assert {span.job_id for span in timeline.jobsets} == {start.job_id for start in timeline.starts}


async def test_a_node_of_the_bridge_joins_the_set_that_the_fragment_makes(slurm: RealSlurm) -> None:
    feature = mixing_feature(MIXING.metadata.namespace, MIXING.metadata.name)
    await slurm.scontrol("create", "partitionname=ours", "nodes=hpc-main-nodes")
    node = slurm.slurmd("ours-1", f"Features=nodes-for-1,{feature} CPUs=1 RealMemory=100")
    try:
        async with asyncio.timeout(10):
            while "ours-1" not in await slurm.scontrol("show", "partition", "ours"):  # noqa: ASYNC110  # polled
                await asyncio.sleep(0.1)
    finally:
        await node.terminate()
