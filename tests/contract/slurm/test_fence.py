"""An instance whose lease is over changes nothing in Slurm, not even the rest of what it has begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from k8s_bridge.core.errors import Conflict
from k8s_bridge.slurm.client import Hold, JobUpdate, NodeState, SlurmClient, SlurmEndpoint, TokenSource
from tests.contract.http_server import HttpServer, answer
from tests.contract.slurm.conftest import TOKEN
from tests.contract.slurm.test_http_rules import PING, V, jobs

OLD = "/slurm/v0.0.38"


@pytest.fixture
async def client(server: HttpServer):
    server.on("GET", f"{V}/ping", answer(200, PING))
    endpoint = SlurmEndpoint(base_url=server.url, timeout=5.0, api_version="v0.0.42")
    made = SlurmClient(endpoint, token=TokenSource(lambda: TOKEN, name="t"), may_write=lambda: False)
    yield made
    await made.close()


@pytest.mark.parametrize(
    "write",
    [
        lambda client: client.update_job(7, JobUpdate(hold=Hold.RELEASE)),
        lambda client: client.cancel(7),
        lambda client: client.update_nodes(("n",), state=NodeState.DOWN, reason="r"),
        lambda client: client.delete_node("n"),
    ],
)
async def test_no_change_is_sent(client: SlurmClient, server: HttpServer, write) -> None:
    with pytest.raises(Conflict, match="may not write now"):
        await write(client)
    assert {request.method for request in server.requests} <= {"GET"}


async def test_reads_go_on(client: SlurmClient, server: HttpServer) -> None:
    server.on("GET", f"{V}/jobs/", answer(200, jobs()))
    await client.jobs()


async def test_no_command_is_run(server: HttpServer, tmp_path: Path) -> None:
    ping = {"pings": [{"ping": "UP"}], "errors": [], "meta": {"Slurm": {"release": "22.05.8"}}}
    server.on("GET", f"{OLD}/ping", answer(200, ping))
    server.on("GET", f"{OLD}/node/n", answer(200, {"errors": [], "nodes": [{"name": "n", "state": "idle"}]}))
    script = tmp_path / "scontrol"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    script.chmod(0o755)
    endpoint = SlurmEndpoint(base_url=server.url, timeout=5.0, api_version="v0.0.38", scontrol=str(script))
    client = SlurmClient(endpoint, token=TokenSource(lambda: TOKEN, name="t"), may_write=lambda: False)
    with pytest.raises(Conflict):
        await client.update_nodes(("n",), state=NodeState.DOWN, reason="r")
    await client.close()
    assert not (tmp_path / "ran").exists()
