"""Scenario `nudged`: as `alone`, but the bridge asks Slurm once a minute, and is told of each sbatch.

It is told by the script that `k8s-bridge slurm-plugin --nudge` writes, started as slurmctld would: the time
includes a shell and curl (in `told_to_shown`).
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import perf_counter

from bench.marks import Mark
from bench.places import Place
from bench.report import Result
from bench.stage import scene
from bench.witness import Witness
from k8s_bridge.sandbox.world import JobRequest, WorldConfig
from k8s_bridge.slurm.plugin.nudge import at_end

_INTERVAL = "60s"
_CALM = 2.0
"""Seconds after which nothing of the job before is looked at closely any more."""
_WITHIN = 90.0


async def run(*, command: str, directory: Path, jobs: int, place: Place) -> Result:
    """The stages of a job that waits for nobody. Unmet when one does not end."""
    witness = Witness()
    config = WorldConfig(directory=directory, spec={"pollInterval": _INTERVAL})
    async with scene(config, place=place, command=command, witness=witness) as stage:
        bridge = await stage.start()
        script = _script(directory, address=f"http://{bridge.http}")
        for _ in range(jobs):
            await asyncio.sleep(_CALM)
            job_id = await stage.submit(JobRequest(seconds=0.2))
            witness.marks.stamp(job_id, Mark.TOLD, perf_counter())
            await _nudge(script)
            await stage.until_gone(job_id, seconds=_WITHIN)
    return Result(scenario="nudged", measured=witness.marks.table("nudged"), detail={"jobs": jobs})


def _script(directory: Path, *, address: str) -> Path:
    path = directory / "nudge"
    path.write_text(at_end(address), encoding="utf-8")
    path.chmod(0o755)
    return path


async def _nudge(script: Path) -> None:
    process = await asyncio.create_subprocess_exec(script)
    if await process.wait():
        raise RuntimeError(f"{script} failed")
