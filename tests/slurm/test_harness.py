from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import httpx
import pytest

from k8s_bridge.sandbox.slurm_real import CommandFailed, RealSlurm, available
from k8s_bridge.sandbox.slurm_real.files import write_secret
from k8s_bridge.sandbox.slurm_real.network import Bridge
from k8s_bridge.sandbox.slurm_real.process import marked

pytestmark = pytest.mark.slurm
RELEASES = ("24.11", "22.05")
IDLE = {"IDLE", "idle"}


async def until(condition: Callable[[], Awaitable[bool]], *, seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 - a daemon sets no event
            await asyncio.sleep(0.02)


def skip_unless(release: str) -> None:
    if reason := available(release):
        pytest.skip(reason)


@pytest.fixture(params=RELEASES)
async def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RealSlurm]:
    skip_unless(request.param)
    slurm = await RealSlurm.start(request.param, tmp_path)
    try:
        yield slurm
    finally:
        await slurm.stop()


async def node_states(slurm: RealSlurm) -> dict[str, set[str]]:
    nodes = (await slurm.get("nodes/")).get("nodes", [])
    return {n["name"]: {n["state"]} if isinstance(n["state"], str) else set(n["state"]) for n in nodes}


async def node_is_idle(slurm: RealSlurm, name: str) -> None:
    async def idle() -> bool:
        return bool((await node_states(slurm)).get(name, set()) & IDLE)

    await until(idle)


async def job_state_is(slurm: RealSlurm, job_id: int, state: str) -> None:
    async def reached() -> bool:
        return (await slurm.squeue("--job", str(job_id), "--states=all", "--format=%T")).strip() == state

    await until(reached)


def network_links(directory: Path) -> set[str]:
    return {path.name for path in Path("/sys/class/net").glob(f"{Bridge(directory).name}*")}


def mounts() -> str:
    return Path("/proc/self/mountinfo").read_text()


def processes_with(text: str) -> list[Path]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in entry.read_bytes():
                found.append(entry)
        except OSError:
            continue
    return found


async def test_job_of_another_user_runs_on_a_dynamic_node_with_gpus(cluster: RealSlurm) -> None:
    cluster.slurmd("pod-a", "CPUs=4 RealMemory=4000 Features=nodes-for-1 Gres=gpu:4")
    await node_is_idle(cluster, "pod-a")
    output = cluster.world.directory / "spool" / "out"
    output.touch()
    output.chmod(0o666)
    script = "#!/bin/bash\nid -un; echo $SLURM_JOB_NODELIST $SLURM_GPUS_ON_NODE\n"
    options = ("--gres=gpu:2", "--constraint=nodes-for-1", "--chdir=/tmp", "--output=/srv/spool/out")

    job_id = await cluster.sbatch(*options, script=script, user="nobody")
    await job_state_is(cluster, job_id, "COMPLETED")

    user, placement = output.read_text().splitlines()
    assert user == "nobody"
    assert placement.startswith("pod-a")
    if cluster.release.name == "24.11":
        assert placement == "pod-a 2"


@pytest.mark.parametrize("end", ["terminate", "kill"])
async def test_end_of_a_slurmd_takes_its_job_along(cluster: RealSlurm, end: str) -> None:
    seconds = str(1_000_000 + os.getpid())  # other tests run sleeps beside this one
    slurmd = cluster.slurmd("pod-a", "CPUs=1")
    await node_is_idle(cluster, "pod-a")
    job_id = await cluster.sbatch(f"--wrap=exec sleep {seconds}")
    await job_state_is(cluster, job_id, "RUNNING")

    async def started() -> bool:
        return bool(processes_with(f"sleep\0{seconds}"))

    await until(started)
    code = await getattr(slurmd, end)()

    assert code == (0 if end == "terminate" else 137)
    assert not slurmd.alive
    assert not await started()


@pytest.mark.parametrize("end", ["terminate", "kill"])
async def test_a_slurmd_can_be_ended_at_any_moment_of_its_start(cluster: RealSlurm, end: str) -> None:
    mine = f"of-{os.getpid()}-"  # other tests run slurmds beside this one
    for moment in range(12):
        slurmd = cluster.slurmd(f"{mine}{moment}", "CPUs=1")
        await asyncio.sleep(moment * 0.003)
        await asyncio.wait_for(slurmd.kill() if end == "kill" else slurmd.terminate(grace=0.5), 5)
        assert not slurmd.alive
    assert not processes_with(f"slurmd\0-D\0-Z\0-N\0{mine}")


async def test_restart_keeps_jobs_and_a_clean_one_forgets_them(cluster: RealSlurm) -> None:
    job_id = await cluster.sbatch("--hold", "--wrap=true")
    await cluster.restart_controller()
    assert str(job_id) in await cluster.squeue()

    await cluster.restart_controller(clean=True)
    assert await cluster.squeue() == ""


async def test_slurmrestd_comes_back_at_the_same_url(cluster: RealSlurm) -> None:
    before = cluster.rest_url
    await cluster.restart_rest()
    assert cluster.rest_url == before
    assert "jobs" in await cluster.get("jobs/")


async def test_tokens_are_of_their_user_and_expire(cluster: RealSlurm) -> None:
    async def status(token: str, *, user: str) -> int:
        headers = {"X-SLURM-USER-NAME": user, "X-SLURM-USER-TOKEN": token}
        async with httpx.AsyncClient(base_url=cluster.rest_url, headers=headers, timeout=20) as client:
            return (await client.get(f"/slurm/{cluster.release.api_version}/jobs/")).status_code

    assert await status(cluster.mint("nobody"), user="nobody") == 200
    assert await status(cluster.mint("root", lifetime=-10), user="root") >= 500


async def test_a_command_that_fails_says_what_slurm_said(cluster: RealSlurm) -> None:
    with pytest.raises(CommandFailed, match="nosuch"):
        await cluster.sbatch("--partition=nosuch", "--wrap=true")


async def test_wrapper_scripts_work_by_hand(cluster: RealSlurm, tmp_path: Path) -> None:
    job = tmp_path / "job.sh"
    job.write_text("#!/bin/bash\n#SBATCH --hold --job-name=by-hand\ntrue\n")

    def by_hand(*argv: str) -> str:
        return subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    sbatch, squeue = (str(cluster.world.directory / "bin" / name) for name in ("sbatch", "squeue"))
    assert "Submitted batch job" in await asyncio.to_thread(by_hand, sbatch, "job.sh")
    assert "by-hand" in await asyncio.to_thread(by_hand, squeue, "--format=%j")


async def test_stop_leaves_nothing(tmp_path: Path) -> None:
    for release in RELEASES:
        skip_unless(release)
        slurm = await RealSlurm.start(release, tmp_path / release)
        slurm.slurmd("pod-a", "CPUs=1")
        assert list(marked(tmp_path / release))
        assert bool(network_links(tmp_path / release)) == (release == "22.05")
        await slurm.stop()
        assert not list(marked(tmp_path / release))
        assert network_links(tmp_path / release) == set()
        assert str(tmp_path) not in mounts()


_KILLED_PARENT = """
import asyncio, os, pathlib, signal, sys
from k8s_bridge.sandbox.slurm_real import RealSlurm

async def main():
    slurm = await RealSlurm.start(sys.argv[1], pathlib.Path(sys.argv[2]))
    slurm.slurmd("ghost", "CPUs=1")
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


@pytest.mark.parametrize("release", RELEASES)
async def test_a_start_ends_the_ruins_of_a_killed_run(release: str, tmp_path: Path) -> None:
    skip_unless(release)
    argv = (sys.executable, "-c", _KILLED_PARENT, release, str(tmp_path))
    killed = await asyncio.create_subprocess_exec(*argv)
    assert await killed.wait() == -signal.SIGKILL
    ruins = set(marked(tmp_path))
    assert ruins

    slurm = await RealSlurm.start(release, tmp_path)
    try:
        assert not ruins & set(marked(tmp_path))
        assert await node_states(slurm) == {}
    finally:
        await slurm.stop()
    assert not list(marked(tmp_path))


async def test_two_clusters_side_by_side_do_not_meet(tmp_path: Path) -> None:
    skip_unless("24.11")
    first, second = [await RealSlurm.start("24.11", tmp_path / name) for name in "ab"]
    try:
        await first.sbatch("--hold", "--wrap=true")
        assert await first.squeue()
        assert await second.squeue() == ""
    finally:
        await first.stop()
        await second.stop()


async def test_extra_configuration_wins_and_partitions_are_made(tmp_path: Path) -> None:
    skip_unless("24.11")
    partitions = ("gpu", "cpu")
    slurm = await RealSlurm.start("24.11", tmp_path, partitions=partitions, extra_conf="SlurmdTimeout=17")
    try:
        assert "SlurmdTimeout           = 17 sec" in await slurm.scontrol("show", "config")
        shown = await slurm.scontrol("--oneliner", "show", "partition")
        assert [line.split()[0] for line in shown.splitlines()] == ["PartitionName=gpu", "PartitionName=cpu"]
    finally:
        await slurm.stop()


async def test_a_configuration_that_cannot_work_is_said_at_start(tmp_path: Path) -> None:
    skip_unless("24.11")
    with pytest.raises(RuntimeError, match="CR_Nothing"):
        await RealSlurm.start("24.11", tmp_path, extra_conf="SelectTypeParameters=CR_Nothing")
    assert not list(marked(tmp_path))


async def test_two_clusters_with_slurms_own_authentication_keep_apart(tmp_path: Path) -> None:
    skip_unless("24.11")
    clusters = [await _with_own_authentication(tmp_path / name) for name in ("one", "two")]
    try:
        for cluster in clusters:
            await cluster.sbatch("--hold", "--wrap=true")
    finally:
        for cluster in clusters:
            await cluster.stop()


async def _with_own_authentication(directory: Path) -> RealSlurm:
    (directory / "etc").mkdir(parents=True)
    write_secret(directory / "etc/slurm.key", data=os.urandom(1024))
    conf = "AuthType=auth/slurm\nCredType=auth/slurm\nAuthInfo=use_client_ids\n"
    return await RealSlurm.start("24.11", directory, extra_conf=conf)
