"""What real records tell the layout engine: options that cannot be met, and a job after a requeue."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.layout_trials import current, pin_and_release, shapes_of, start, started, submit, verdict

from k8s_bridge.sandbox.slurm_real import CommandFailed
from k8s_bridge.slurm.layout import Exclusive, Layout, Refusal, digest, plan

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(300)]

REFUSED = {
    "--sockets-per-node=2 --gpus-per-socket=1": "--gpus-per-socket",
    "--ntasks-per-socket=2 -n4": "--ntasks-per-socket",
    "--ntasks-per-gpu=2 --gpus=2": "--ntasks-per-gpu",
    "--sockets-per-node=2": "--sockets-per-node",
    "--cores-per-socket=2": "--cores-per-socket",
    "--threads-per-core=2": "--threads-per-core",
    "-O -n4": "--overcommit",
    "-O -n4 -c2": "--overcommit",
    "-O -N2 -n4": "--overcommit",
    "--switches=1": "--switches",
    "--contiguous": "--contiguous",
    "--spread-job -n4": "--spread-job",
    "--tmp=100": "--tmp",
    "--network=x": "--network",
    "--bb=x": "--bb",
    "--container=x": "--container",
    "--reboot": "--reboot",
    "--gres-flags=enforce-binding": "--gres-flags=enforce-binding",
    "--mem=0": "--mem=0",
    "--mem-per-cpu=0": "--mem=0",
    "-n1000000000": "--ntasks",
    "-c70000": "--cpus-per-task",
    "-N100000": "--nodes",
    "--mem=100T": "--mem",
    "--gres=gpu:100k": "--gres",
}
UNSEEN_BY_22_05 = {"--switches=1", "--network=x", "--ntasks-per-gpu=2 --gpus=2"}


@pytest.mark.parametrize("release", ["24.11", "22.05"])
async def test_what_cannot_be_met_is_refused_from_the_record(release: str, tmp_path: Path) -> None:
    slurm = await started(tmp_path, release=release, conf="Licenses=lic:5")
    unseen = UNSEEN_BY_22_05 if release == "22.05" else set()
    found = {}
    try:
        for options in REFUSED:
            job = await submit(slurm, options)
            answer = plan(job, node_shape=None, exclusive=Exclusive.AS_ASKED)
            found[options] = answer.option if isinstance(answer, Refusal) else ""
    finally:
        await slurm.stop()
    assert found == {options: "" if options in unseen else name for options, name in REFUSED.items()}


@pytest.mark.parametrize("release", ["24.11", "22.05"])
async def test_cpus_that_were_changed_while_there_was_no_node_count(release: str, tmp_path: Path) -> None:
    slurm = await started(tmp_path, release=release)
    try:
        job = await submit(slurm, "-n1")
        with pytest.raises(CommandFailed, match="configuration not available"):
            await slurm.scontrol("update", f"JobId={job.job_id}", "NumCPUs=3")
        layout = plan(await current(slurm, job.job_id), node_shape=None, exclusive=Exclusive.AS_ASKED)
        assert isinstance(layout, Layout)
        assert [shape.cpus for shape in shapes_of(layout)] == [3]
        await start(slurm, job, shapes_of(layout))
        await pin_and_release(slurm, job)
        assert (await verdict(slurm, job.job_id)).active
        await slurm.scontrol("requeuehold", str(job.job_id))
        async with asyncio.timeout(60):
            while not (after := await current(slurm, job.job_id)).pending:  # noqa: ASYNC110  # polled
                await asyncio.sleep(0.1)
        assert plan(after, node_shape=None, exclusive=Exclusive.AS_ASKED) == layout
    finally:
        await slurm.stop()


async def test_a_requeued_job_has_the_layout_that_it_had(tmp_path: Path) -> None:
    slurm = await started(tmp_path)
    try:
        for options in ("-N2 -n3 --mem-per-cpu=10", "-n4 -c2", "--gpus=2 --exclusive", "-n3"):
            before = await submit(slurm, options)
            layout = plan(before, node_shape=None, exclusive=Exclusive.AS_ASKED)
            assert isinstance(layout, Layout)
            await start(slurm, before, shapes_of(layout))
            await pin_and_release(slurm, before)
            assert (await verdict(slurm, before.job_id)).active
            await slurm.scontrol("requeuehold", str(before.job_id))
            after = await current(slurm, before.job_id)
            assert after.features == f"nodes-for-{before.job_id}"
            again = plan(after, node_shape=None, exclusive=Exclusive.AS_ASKED)
            assert again == layout, options
            assert digest(again) == digest(layout)
    finally:
        await slurm.stop()
