"""A bridge as the status page may meet it: some of everything, and names that somebody chose with malice."""

from __future__ import annotations

from k8s_bridge.core.conditions import Finding
from k8s_bridge.runtime.controller import Outcome, Result
from k8s_bridge.runtime.health import Health
from k8s_bridge.runtime.http import Endpoints
from k8s_bridge.runtime.metrics import Metrics
from k8s_bridge.runtime.reading import Amount, Queue, Reading, UnitGroup
from k8s_bridge.runtime.recent import Recent
from k8s_bridge.runtime.turn import ALONE, Turn
from k8s_bridge.runtime.units import UnitDetail, UnitRow, Units

NOW = 1_780_000_000.0
HOSTILE = """<script>document.title="owned"</script>'"><img src=x onerror=alert(1)>{{7*7}}"""
GIB = 2.0**30


def amount(resource: str, used: float, by_all: float, nominal: float) -> Amount:
    return Amount(flavor="default", resource=resource, used=used, used_by_all=by_all, nominal=nominal)


READING = Reading(
    units={UnitGroup(state="Running"): 2, UnitGroup(state="Queued"): 1, UnitGroup(state="Refused"): 1},
    slurm_nodes=5,
    last_answer=NOW - 3,
    token_expires=NOW + 86_400,
    info={"slurm_version": "24.11.5", "slurm_api_version": "v0.0.41", "slurm_cluster": "hpc"},
    queues=(
        Queue(
            name="team-a",
            cluster_queue="shared",
            pending=3,
            admitted=2,
            amounts=(amount("cpu", 6, 8, 8), amount("memory", 12 * GIB, 20 * GIB, 64 * GIB)),
        ),
        Queue(name="team-b", trouble="LocalQueue hpc/team-b does not exist; create it or correct localQueue"),
    ),
)
FINDINGS = {
    "Ready": Finding(
        type="Ready", status="False", reason="LocalQueueMissing", message="LocalQueue hpc/team-b …"
    ),
    "Conflicting": Finding(type="Conflicting", status="False", reason="NoConflict"),
}


def row(name: str, state: str, **more: object) -> UnitDetail:
    given: dict[str, object] = {"kind": "Slurm job", "workloadmixing": "hpc/main", "since": NOW - 700} | more
    found = UnitRow(name=name, state=state, **given)  # type: ignore[arg-type]
    return UnitDetail(
        row=found, facts={"Slurm state": "PENDING"}, options={"--mem=4G": "4096 MiB"}, next_step="wait"
    )


UNITS = {
    "42": row("42", "Running", user="ada", partition="batch", queue="team-a", nodes=("slurm-job-42-0",)),
    "43": row("43", "Queued", user=HOSTILE, partition=HOSTILE, queue="team-a", priority=0, text=HOSTILE),
    "7-s0": row("7-s0", "Refused", kind="slot", text="--switches cannot be met"),
    "team/report": row("team/report", "Running", kind="Job"),
}


def sample(*, turn: Turn = ALONE, known: bool = True) -> Endpoints:
    """What the page is made of; a standby knows no units."""
    metrics, units, recent = Metrics(lambda: turn.leads), Units(), Recent(lambda: NOW - 60)
    if known:
        units.add("hpc/main", lambda name: [found for key, found in UNITS.items() if name in ("", key)])
        text = f"waits: {HOSTILE}"
        recent(Outcome(controller="hpc/main", key=43, result=Result.VERDICT, state="Queued", text=text))
        recent(
            Outcome(
                controller="hpc/main",
                key=42,
                result=Result.RETRY,
                effect="NodesDelete",
                error=ValueError("busy"),
            )
        )
        recent(Outcome(controller="hpc/main", key=42, result=Result.DONE, effect="TakeHold"))
    metrics.gauges.watch("hpc/main", lambda: READING)
    metrics.gauges.judge("hpc/main", lambda: FINDINGS)
    return Endpoints(
        health=Health(),
        metrics=metrics,
        units=units,
        nudge=lambda _: None,
        turn=lambda: turn,
        recent=recent,
        clock=lambda: NOW,
    )
