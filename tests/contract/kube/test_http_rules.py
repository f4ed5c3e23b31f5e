from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import replace

import pytest

from api.views import Pod
from k8s_bridge.core.errors import Retry, Terminal
from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.kube.credentials import StaticToken, TokenFile
from k8s_bridge.kube.http import Limits
from k8s_bridge.kube.transport import KubeClient
from tests.contract.garbage import none_left
from tests.contract.http_server import HttpServer, answer, cut, hang, held, stream
from tests.contract.kube.conftest import LIMITS
from tests.contract.kube.shapes import pod

POD = "/api/v1/namespaces/ns/pods/a"


async def get(client: KubeClient) -> Pod:
    return await client.get(Pod, name="a", namespace="ns")


async def test_a_redirect_is_an_error_and_the_token_does_not_travel(server, client):
    async with HttpServer() as elsewhere:
        server.on("GET", POD, answer(302, headers={"Location": f"{elsewhere.url}{POD}"}))
        with pytest.raises(Terminal) as caught:
            await get(client)
        assert caught.value.reason == "Http302"
        assert elsewhere.connections == 0


async def test_the_environment_gives_neither_proxy_nor_password(server, client, monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login other password stolen\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    fresh = KubeClient(client.server, limits=LIMITS)
    server.on("GET", POD, answer(200, pod("a", 1)))
    await get(fresh)
    await fresh.aclose()
    assert server.requests[0].headers["authorization"] == "Bearer secret"


async def test_calls_leave_nothing_for_the_garbage_collector(server, client):
    server.on("GET", POD, answer(200, pod("a", 1)), answer(200, pod("a", 1)), answer(503))
    await get(client)
    with none_left():
        await get(client)
        with contextlib.suppress(Retry):
            await get(client)


@pytest.mark.parametrize("code", [429, 503])
async def test_retry_after_is_handed_on(server, client, code):
    server.on("GET", POD, answer(code, headers={"Retry-After": "7"}))
    with pytest.raises(Retry) as caught:
        await get(client)
    assert caught.value.after == 7.0


async def test_a_server_that_does_not_answer_is_a_retry(server, client, seen):
    server.on("GET", POD, hang)
    with pytest.raises(Retry):
        await get(client)
    assert seen.calls == [("GET", "Pod", 0)]


@pytest.mark.parametrize("reply", [cut, stream(b'{"metadata"', then=cut), stream(b'{"metadata"', then=hang)])
async def test_an_answer_cut_short_is_a_retry_and_the_next_call_works(server, client, reply):
    server.on("GET", POD, reply, answer(200, pod("a", 3)))
    with pytest.raises(Retry):
        await get(client)
    assert (await get(client)).metadata.resource_version == "3"


async def test_a_refused_connection_is_a_retry():
    async with HttpServer() as gone:
        pass
    async with KubeClient(ApiServer(base_url=gone.url), limits=LIMITS) as client:
        with pytest.raises(Retry):
            await get(client)


async def test_a_trickling_answer_ends_at_the_total_limit(server, client):
    async def trickle(exchange):
        await exchange.head(200, {"Transfer-Encoding": "chunked"})
        while True:
            await exchange.chunk(b" ")
            await asyncio.sleep(0.05)

    server.on("GET", POD, trickle)
    patient = replace(LIMITS, read=10)
    async with KubeClient(client.server, limits=patient) as waiting:
        with pytest.raises(Retry, match="not complete"):
            await get(waiting)


@pytest.mark.parametrize("code", [200, 500])
async def test_a_body_above_the_cap_is_refused_before_it_is_in_memory(server, client, code):
    sent = 0

    async def flood(exchange):
        nonlocal sent
        await exchange.head(code, {"Transfer-Encoding": "chunked"})
        while True:
            await exchange.chunk(b"x" * 50_000)
            sent += 50_000

    server.on("GET", POD, flood)
    with pytest.raises(Terminal) as caught:
        await get(client)
    assert caught.value.reason == "BodyTooLarge"
    assert sent < 50_000_000


async def test_a_rotated_token_file_is_used_at_once(server, tmp_path):
    path = tmp_path / "token"
    path.write_text("first\n")
    server.on("GET", POD, answer(200, pod("a", 1)))
    async with KubeClient(ApiServer(base_url=server.url, credentials=TokenFile(path))) as client:
        await get(client)
        fresh = tmp_path / "fresh"
        fresh.write_text("second\n")
        fresh.replace(path)  # as the kubelet swaps a projected token
        await get(client)
    assert [r.headers["authorization"] for r in server.requests] == ["Bearer first", "Bearer second"]


async def test_a_refused_token_is_read_again_even_if_its_time_stamp_is_the_same(server, tmp_path):
    path = tmp_path / "token"
    path.write_text("first")
    stamp = path.stat()
    server.on("GET", POD, answer(401), answer(200, pod("a", 1)))
    async with KubeClient(ApiServer(base_url=server.url, credentials=TokenFile(path))) as client:
        with path.open("r+") as file:
            with pytest.raises(Retry):
                await get(client)
            file.write("other")
            file.flush()
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
            await get(client)
    assert server.requests[1].headers["authorization"] == "Bearer other"


async def test_cancelled_callers_do_not_poison_the_pool(server):
    server.on("GET", POD, answer(200, pod("a", 1)))
    async with KubeClient(ApiServer(base_url=server.url), limits=Limits(connections=3, pool=2)) as client:
        for steps in range(0, 40, 2):  # wherever a request happens to be
            callers = [asyncio.create_task(get(client)) for _ in range(6)]
            for _ in range(steps):
                await asyncio.sleep(0)
            for caller in callers:
                caller.cancel()
            await asyncio.gather(*callers, return_exceptions=True)
        assert len(await asyncio.gather(*(get(client) for _ in range(6)))) == 6


async def test_the_request_of_a_cancelled_caller_goes_on_to_its_end(server, client, seen):
    gate = asyncio.Event()
    server.on("GET", POD, held(gate, answer(200, pod("a", 1))))
    caller = asyncio.create_task(get(client))
    await server.arrived("GET", POD)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    gate.set()
    await client.aclose()
    assert seen.calls == [("GET", "Pod", 200)]


async def test_closing_lets_a_call_under_way_end(server, client):
    gate = asyncio.Event()
    server.on("GET", POD, held(gate, answer(200, pod("a", 9))))
    call = asyncio.create_task(get(client))
    await server.arrived("GET", POD)
    closing = asyncio.create_task(client.aclose())
    await asyncio.sleep(0)
    gate.set()
    assert (await call).metadata.resource_version == "9"
    await closing
    with pytest.raises(Retry, match="closed"):
        await get(client)


async def test_closing_does_not_wait_longer_than_the_farewell(server):
    server.on("GET", POD, hang)
    slow = Limits(read=60, farewell=0.2)
    client = KubeClient(ApiServer(base_url=server.url, credentials=StaticToken("t")), limits=slow)
    call = asyncio.create_task(get(client))
    await server.arrived("GET", POD)
    started = asyncio.get_running_loop().time()
    await client.aclose()
    with pytest.raises(Retry):
        await call
    assert asyncio.get_running_loop().time() - started < 5
