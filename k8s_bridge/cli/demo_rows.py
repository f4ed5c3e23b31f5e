"""One row for each Slurm job, Kubernetes Job and inner RayJob of a world, in the order in which they came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from k8s_bridge.core import naming
from k8s_bridge.runtime.units import UnitRow
from k8s_bridge.sandbox.apiserver.kinds import JOBS
from k8s_bridge.sandbox.world import World
from k8s_bridge.sandbox.world.config import BATCH, CLASSES, HIGH, NAMESPACE, NORMAL, TEAM_A, TEAM_B, URGENT
from k8s_bridge.sandbox.world.slurm import JobFact
from k8s_bridge.sandbox.world.timeline import PlainJob

_ROUTES = {BATCH: (TEAM_A, CLASSES[NORMAL]), URGENT: (TEAM_B, CLASSES[HIGH])}
_RAY = "RayJob"
_ENDS = {"Complete": "Done", "Failed": "Failed"}


def rows(world: World, units: Sequence[Mapping[str, Any]]) -> list[UnitRow]:
    """Slurm jobs as the bridge sees them (those that it has let go of as Slurm does), Jobs, RayJobs."""
    seen = msgspec.convert(units, list[UnitRow])
    known = {unit.name: unit for unit in seen if unit.kind != _RAY}
    slurm = [_slurm_row(job, known.get(str(job.job_id))) for _, job in sorted(world.jobs.items())]
    plain = [_plain_row(world, job) for job in world.timeline.plain_jobs]
    return slurm + plain + [_ray_row(unit) for unit in seen if unit.kind == _RAY]


def _slurm_row(job: JobFact, unit: UnitRow | None) -> UnitRow:
    name = f"{job.job_id} {job.name}"
    if unit is None:
        state = "Done" if job.over else "Held"
        queue, priority = _ROUTES[job.partition]
        return UnitRow(
            kind="Slurm job",
            name=name,
            state=state,
            partition=job.partition,
            queue=queue,
            priority=priority,
            text=_fate(job),
        )
    text = unit.text or (f"runs on {', '.join(unit.nodes)}" if job.running else "")
    return msgspec.structs.replace(
        unit, name=name, user="", workloadmixing="", nodes=(), reason=unit.reason if text else "", text=text
    )


def _fate(job: JobFact) -> str:
    if not job.over:
        return "has just been submitted"
    again = f", requeued {job.restarts} time(s)" if job.restarts else ""
    return f"{job.state}{again}"


def _plain_row(world: World, job: PlainJob) -> UnitRow:
    found = world.storage.find(JOBS, NAMESPACE, job.name) or {"metadata": {}}
    labels = found["metadata"].get("labels") or {}
    state = _ENDS.get(job.state, job.state)
    return UnitRow(
        kind="Job",
        name=job.name,
        state=state,
        queue=labels.get(naming.QUEUE_NAME, ""),
        priority=CLASSES.get(labels.get(naming.PRIORITY_CLASS, "")),
        reason=job.reason,
        text="its pods have ended" if state == "Done" else job.text,
    )


def _ray_row(unit: UnitRow) -> UnitRow:
    name = unit.name.partition("/")[2]
    return msgspec.structs.replace(unit, name=name, workloadmixing="", nodes=())
