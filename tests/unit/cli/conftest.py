from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from k8s_bridge.runtime.health import Health
from k8s_bridge.runtime.http import Endpoints, HttpServer, application
from k8s_bridge.runtime.metrics import Metrics
from k8s_bridge.runtime.settings import Bind
from k8s_bridge.runtime.units import UnitDetail, UnitRow, Units

NOW = 1_800_000_000.0

ROWS = (
    UnitRow(
        kind="Slurm job",
        name="42",
        state="QUEUED",
        queue="hpc",
        partition="cpu",
        user="ada",
        priority=100,
        reason="NoQuota",
        text="third in queue hpc: 64 CPUs short",
        since=NOW - 3700,
        workloadmixing="hpc/main",
    ),
    UnitRow(
        kind="Slurm job",
        name="7_3",
        state="RUNNING",
        queue="hpc",
        partition="gpu",
        user="bob",
        since=NOW - 90_000,
        nodes=tuple(f"node-{n}" for n in range(6)),
        workloadmixing="hpc/main",
    ),
    UnitRow(kind="JobSet", name="hpc/[bold]train[/]", state="RUNNING", queue="ml", priority=7),
)
DETAILS = (
    UnitDetail(
        row=ROWS[0],
        options={"--mem=4G": "4096 MiB on each node"},
        facts={"Workload": "QuotaReserved=False"},
        next_step="waits for Kueue",
    ),
    UnitDetail(row=ROWS[1]),
    UnitDetail(row=ROWS[2]),
)


@pytest.fixture
def now():
    return NOW


@pytest.fixture
def rows():
    return ROWS


@pytest.fixture
def details():
    return DETAILS


@pytest.fixture
def bridge() -> Iterator[str]:
    """The address of a bridge that knows the rows, served from a thread of its own."""
    units = Units()
    units.add("hpc/main", lambda name: [d for d in DETAILS if name in ("", d.row.name)])
    at = Endpoints(health=Health(), metrics=Metrics(lambda: True), units=units, nudge=lambda _: None)
    server = HttpServer(application(at), Bind(port=0))
    thread = threading.Thread(target=lambda: asyncio.run(server.run()))
    thread.start()
    yield f"http://127.0.0.1:{server.address.port}"
    server.stop()
    thread.join()
