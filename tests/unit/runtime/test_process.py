from __future__ import annotations

import asyncio
import io
import json
import logging
import time
from contextlib import asynccontextmanager

import httpx
import pytest
import structlog

from k8s_bridge.core.conditions import Finding
from k8s_bridge.kube.apiserver import ApiServer as Address
from k8s_bridge.kube.lease import LeaderLease
from k8s_bridge.runtime import memory
from k8s_bridge.runtime.gates import Gates
from k8s_bridge.runtime.logging import configure
from k8s_bridge.runtime.process import Process
from k8s_bridge.runtime.redact import Redactor
from k8s_bridge.runtime.settings import Bind, Election, LogFormat, Settings
from k8s_bridge.sandbox.apiserver.kinds import LEASES, NAMESPACES, WORKLOADMIXINGS
from k8s_bridge.sandbox.apiserver.server import ApiServer

SPEC = {
    "slurmRestURL": "https://slurm:6820",
    "localQueue": "hpc",
    "partitionMappings": [{"partitionName": "cpu", "workloadPriorityClass": "normal"}],
    "slurmd": {"image": "registry.example.com/slurmd:1", "confServer": "ctl:6817", "authSecretName": "slurm"},
}


@pytest.fixture(autouse=True)
def _process_wide_state(monkeypatch):
    monkeypatch.setattr(memory, "tune", lambda: None)
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


class Bridge:
    """Does nothing but say that it works."""

    def __init__(self, services, mixing, status):
        self.working = Finding(type="Ready", status="True", reason="Working")
        self.services, self.status, self.mixings = services, status, [mixing]
        self.name = f"{mixing.metadata.namespace}/{mixing.metadata.name}"
        self.ending = asyncio.Event()
        self.ended = False

    async def run(self):
        self.status.report([self.working], {"slurmVersion": "24.11.5"})
        await self.ending.wait()
        self.ended = True

    def stop(self):
        self.ending.set()

    def reload(self, mixing):
        self.mixings.append(mixing)


class World:
    def __init__(self):
        self.bridges, self.stop, self.log = [], asyncio.Event(), io.StringIO()
        self.process = self.task = None

    def factory(self, services, mixing, status):
        self.bridges.append(Bridge(services, mixing, status))
        return self.bridges[-1]

    def events(self):
        return [json.loads(line)["event"] for line in self.log.getvalue().splitlines()]


async def until(condition, *, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():  # the condition is somebody else's state
        assert time.monotonic() < end, "it did not come about"
        await asyncio.sleep(0.01)


@asynccontextmanager
async def running(url, *, world=None, **settings):
    world = world or World()
    redactor = Redactor()
    log = configure(level="info", form=LogFormat.JSON, stream=world.log, redactor=redactor)
    world.process = Process(
        Settings(http=Bind(port=0), **settings),
        world.factory,
        server=Address(base_url=url, namespace="hpc"),
        log=log,
        redactor=redactor,
    )
    world.task = asyncio.create_task(world.process.run(world.stop))
    try:
        yield world
    finally:
        world.stop.set()
        began = time.monotonic()
        await world.task
        world.seconds = time.monotonic() - began


@asynccontextmanager
async def cluster():
    async with ApiServer() as server:
        for namespace in ("hpc", "lab"):
            server.storage.create(
                NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            )
        yield server


def create(server, name="main", *, namespace="hpc", **spec):
    return server.storage.create(
        WORKLOADMIXINGS,
        {
            "apiVersion": "k8s-bridge.x-k8s.io/v1alpha1",
            "kind": "WorkloadMixing",
            "metadata": {"name": name, "namespace": namespace},
            "spec": SPEC | spec,
        },
    )


def edit(server, **spec):
    there = server.storage.get(WORKLOADMIXINGS, "hpc", "main")
    server.storage.update(WORKLOADMIXINGS, there | {"spec": there["spec"] | spec})


def ready(server):
    conditions = server.storage.get(WORKLOADMIXINGS, "hpc", "main").get("status", {}).get("conditions", [])
    return next(((c["status"], c["reason"]) for c in conditions if c["type"] == "Ready"), None)


async def test_a_resource_is_served_reloaded_and_let_go_and_the_lease_given_back():
    async with cluster() as server:
        create(server)
        async with running(server.url) as world:
            await until(lambda: ready(server) == ("True", "Working"))
            lease = server.storage.get(LEASES, "hpc", "k8s-bridge-leader")
            assert lease["spec"]["holderIdentity"]
            edit(server, localQueue="other")
            await until(lambda: len(world.bridges[0].mixings) == 2)
            assert world.bridges[0].mixings[-1].spec.local_queue == "other"
            create(server, "elsewhere", namespace="lab")
            server.storage.delete(WORKLOADMIXINGS, "hpc", "main")
            await until(lambda: world.bridges[0].ended)
            assert len(world.bridges) == 1, "another namespace is not ours"
        assert world.seconds < 3
        assert not server.storage.get(LEASES, "hpc", "k8s-bridge-leader")["spec"].get("holderIdentity")
    events = world.events()
    assert events[-1] == "stopped"
    assert {"started", "lease", "bridge_started", "bridge_reloaded", "bridge_stopped"} <= set(events)


async def test_a_crash_of_a_bridge_is_told_on_the_resource_without_its_words():
    async with cluster() as server:
        create(server)
        world = World()
        made = world.factory
        crashing = True

        def factory(services, mixing, status):
            bridge = made(services, mixing, status)
            if crashing:
                bridge.run = crash
            return bridge

        async def crash():
            raise RuntimeError("the token is 12345678")

        world.factory = factory
        async with running(server.url, world=world):
            await until(lambda: ready(server) == ("False", "Crashed"))
            assert "12345678" not in str(server.storage.get(WORKLOADMIXINGS, "hpc", "main")["status"])
            crashing = False
            await until(lambda: ready(server) == ("True", "Working"))


async def test_a_refused_edit_is_told_on_the_resource_while_the_last_good_one_runs_on():
    async with cluster() as server:
        create(server)
        gates = Gates(images=("registry.example.com/",))
        async with running(server.url, gates=gates) as world:
            await until(lambda: ready(server) == ("True", "Working"))
            edit(server, slurmd=SPEC["slurmd"] | {"image": "evil.io/slurmd:1"})
            await until(lambda: ready(server) == ("False", "SpecRefused"))
            assert len(world.bridges[0].mixings) == 1
            assert not world.bridges[0].ended
            edit(server, slurmd=SPEC["slurmd"])
            await until(lambda: ready(server) == ("True", "Working"))
    assert "spec_refused" in world.events()


async def test_the_standby_is_ready_writes_nothing_and_takes_over_when_the_leader_ends():
    async with cluster() as server, running(server.url) as leader:
        await until(leader.process._may_write)
        async with running(server.url) as standby:
            base = f"http://127.0.0.1:{standby.process.address.port}"
            async with httpx.AsyncClient(base_url=base, trust_env=False) as client:
                await until(lambda: not standby.process._health.unready)
                assert (await client.get("/readyz")).status_code == 200
                assert "k8s_bridge_leader 0.0" in (await client.get("/metrics")).text
                turn = (await client.get("/leader")).json()
                assert (turn["leads"], turn["leader"]) == (False, leader.process._lease._identity)
                leader.stop.set()
                await leader.task
                await until(standby.process._may_write)
                assert "k8s_bridge_leader 1.0" in (await client.get("/metrics")).text
                assert (await client.get("/leader")).json()["leads"]


async def test_a_file_without_any_cluster_is_served_and_ends_at_once(tmp_path):
    file = tmp_path / "main.yaml"
    file.write_text(json.dumps(SPEC))
    async with running("http://127.0.0.1:1", config=file, election=Election.NONE) as world:
        await until(lambda: world.bridges)
        base = f"http://127.0.0.1:{world.process.address.port}"
        nudged = []
        world.bridges[0].services.nudges.add("hpc/main", lambda: nudged.append("main"))
        world.bridges[0].services.nudges.add("hpc/other", lambda: nudged.append("other"))
        async with httpx.AsyncClient(base_url=base, trust_env=False) as client:
            await client.post("/nudge?workloadmixing=hpc/main")
            await client.post("/nudge")
        assert nudged == ["main", "main", "other"]
    assert world.bridges[0].ended
    assert world.seconds < 3


async def test_a_cluster_that_is_away_at_the_start_is_waited_for():
    async with running("http://127.0.0.1:1") as world:
        base = f"http://127.0.0.1:{world.process.address.port}"
        async with httpx.AsyncClient(base_url=base, trust_env=False) as client:
            assert (await client.get("/readyz")).status_code == 503
            assert (await client.get("/healthz")).status_code == 200
    assert world.seconds < 3


async def test_a_part_that_fails_ends_the_process_with_its_error(monkeypatch):
    async def broken(self):
        raise OSError("the clock is gone")

    monkeypatch.setattr(LeaderLease, "run", broken)
    world = World()

    async def main():
        async with cluster() as server, running(server.url, world=world):
            await asyncio.wait([world.task])

    with pytest.raises(OSError, match="the clock is gone"):
        await main()
    assert "stopped" in world.events()
