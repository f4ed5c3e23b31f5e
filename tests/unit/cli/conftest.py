from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator

import pytest

from k8s_bridge.runtime.health import Health
from k8s_bridge.runtime.http import Endpoints, HttpServer, application
from k8s_bridge.runtime.metrics import Metrics
from k8s_bridge.runtime.settings import LEASE_NAME, Bind
from k8s_bridge.runtime.units import UnitDetail, UnitRow, Units
from k8s_bridge.sandbox.apiserver.kinds import LEASES, NAMESPACES, WORKLOADMIXINGS
from k8s_bridge.sandbox.apiserver.kubeconfig import write_kubeconfig
from k8s_bridge.sandbox.apiserver.server import ApiServer
from k8s_bridge.sandbox.apiserver.storage import Storage

SPEC = {
    "slurmRestURL": "https://slurm:6820",
    "localQueue": "hpc",
    "partitionMappings": [{"partitionName": "cpu", "workloadPriorityClass": "normal"}],
    "slurmd": {"image": "registry.example.com/slurmd:1", "confServer": "ctl:6817", "authSecretName": "slurm"},
}

POD = "bridge-5d9-x2k"
"""The pod that holds the lease of `cluster`."""

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


@pytest.fixture
def spec():
    """Of a WorkloadMixing."""
    return SPEC


@contextlib.contextmanager
def serving(storage: Storage, **options) -> Iterator[ApiServer]:
    """An API server in a thread of its own."""
    up, down, made = threading.Event(), threading.Event(), []

    async def serve() -> None:
        async with ApiServer(storage, **options) as server:
            made.append(server)
            up.set()
            await asyncio.to_thread(down.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert up.wait(10)
        yield made[0]
    finally:
        down.set()
        thread.join()


@pytest.fixture
def kubeconfig(tmp_path):
    """Of an API server with hpc/main."""
    storage = Storage()
    storage.create(NAMESPACES, {"metadata": {"name": "hpc"}})
    storage.create(WORKLOADMIXINGS, {"metadata": {"name": "main", "namespace": "hpc"}, "spec": SPEC})
    with serving(storage) as server:
        write_kubeconfig(server, tmp_path / "kubeconfig", namespace="hpc")
        yield tmp_path / "kubeconfig"


@pytest.fixture
def cluster(tmp_path):
    """The kubeconfig of an API server with a leader's lease, and its storage."""
    storage = Storage()
    storage.create(NAMESPACES, {"metadata": {"name": "bridge"}})
    meta = {"name": LEASE_NAME, "namespace": "bridge"}
    storage.create(LEASES, {"metadata": meta, "spec": {"holderIdentity": f"{POD}_1_ab"}})
    with serving(storage) as server:
        write_kubeconfig(server, tmp_path / "kubeconfig", namespace="elsewhere")
        yield tmp_path / "kubeconfig", storage


@pytest.fixture
def guarded():
    """The URL of an API server that admits one token only."""
    with serving(Storage(), tokens=frozenset({"right"})) as server:
        yield server.url
