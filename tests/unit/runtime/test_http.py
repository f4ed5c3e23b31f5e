from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager

import httpx
import pytest

from k8s_bridge.runtime.health import Health
from k8s_bridge.runtime.http import Endpoints, HttpServer, application
from k8s_bridge.runtime.metrics import Metrics
from k8s_bridge.runtime.settings import Bind, SettingsError
from k8s_bridge.runtime.units import UnitDetail, UnitRow, Units

LOOPBACK = Bind(host="127.0.0.1", port=0)


def endpoints(nudged=None):
    return Endpoints(
        health=Health(),
        metrics=Metrics(lambda: True),
        units=Units(),
        nudge=(nudged if nudged is not None else []).append,
    )


@asynccontextmanager
async def serving(at):
    server = HttpServer(application(at), LOOPBACK)
    task = asyncio.create_task(server.run())
    base = f"http://127.0.0.1:{server.address.port}"
    async with httpx.AsyncClient(base_url=base, trust_env=False) as client:
        yield client
    server.stop()
    await task


async def test_healthz_fails_when_a_loop_is_wedged_and_not_when_slurm_is_down(fake, rig):
    at = endpoints()
    world = rig(fake(why="Slurm does not answer"))
    at.health.add("hpc/main", world.loop.wedged)
    world.start()
    async with serving(at) as client:
        answer = await client.get("/healthz")
        assert (answer.status_code, answer.text) == (200, "ok")
        world.loop._beat = asyncio.get_running_loop().time() - 31
        answer = await client.get("/healthz")
        assert answer.status_code == 503
        assert "team/slurm: no heartbeat for 31 s" in answer.text
        at.health.remove("hpc/main")
        assert (await client.get("/healthz")).status_code == 200
    await world.stop()


async def test_readyz_is_about_having_started_and_nothing_else():
    at = endpoints()
    async with serving(at) as client:
        assert (await client.get("/readyz")).status_code == 503
        at.health.started()
        at.health.add("x", lambda: "wedged")
        assert (await client.get("/readyz")).status_code == 200


async def test_metrics_are_prometheus_text():
    async with serving(endpoints()) as client:
        answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "k8s_bridge_leader 1.0" in answer.text


async def test_nudges_reach_the_named_bridge_or_all():
    nudged = []
    async with serving(endpoints(nudged)) as client:
        assert (await client.post("/nudge")).status_code == 202
        assert (await client.post("/nudge?workloadmixing=hpc/main", content=b"{}")).status_code == 202
        assert (await client.get("/nudge")).status_code == 405
    assert nudged == ["", "hpc/main"]


def detail(name, mixing="hpc/main"):
    row = UnitRow(kind="Slurm job", name=name, state="QUEUED", workloadmixing=mixing)
    return UnitDetail(row=row, facts={"Workload": "pending"}, next_step="wait for quota")


async def test_units_are_listed_and_found_by_name():
    at = endpoints()
    known = {"42": detail("42"), "7+1": detail("7+1")}
    at.units.add("hpc/main", lambda name: [d for n, d in known.items() if name in ("", n)])
    at.units.add("lab/other", lambda name: [detail("42", "lab/other")] if name in ("", "42") else [])
    async with serving(at) as client:
        rows = (await client.get("/debug/units")).json()
        assert [(row["name"], row["workloadmixing"]) for row in rows] == [
            ("42", "hpc/main"),
            ("7+1", "hpc/main"),
            ("42", "lab/other"),
        ]
        both = (await client.get("/debug/units/42")).json()
        assert [found["row"]["workloadmixing"] for found in both] == ["hpc/main", "lab/other"]
        assert (await client.get("/debug/units/7%2B1")).json()[0]["next_step"] == "wait for quota"
        assert (await client.get("/debug/units/99")).status_code == 404
        at.units.remove("hpc/main")
        assert len((await client.get("/debug/units")).json()) == 1


@pytest.mark.parametrize(
    ("client", "code"), [("10.0.0.7", 403), ("::1", 200), ("127.0.0.9", 200), ("odd", 403)]
)
async def test_units_name_people_and_are_told_to_loopback_only(client, code):
    transport = httpx.ASGITransport(app=application(endpoints()), client=(client, 1234))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as remote:
        assert (await remote.get("/debug/units")).status_code == code
        assert (await remote.get("/debug/units/1")).status_code == (404 if code == 200 else code)
        assert (await remote.get("/metrics")).status_code == 200


def test_a_taken_port_is_told_as_the_option_to_change():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(SettingsError, match=r"--http: cannot listen on .* choose another port"):
            HttpServer(application(endpoints()), Bind(port=taken.getsockname()[1]))
