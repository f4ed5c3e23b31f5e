from __future__ import annotations

import asyncio
import ssl
import subprocess
import time
from pathlib import Path

import pytest

from api.views import Pod
from k8s_bridge.core.errors import Retry, Terminal
from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.kube.errors import Gone
from k8s_bridge.kube.http import Limits
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.kube.wire import Change
from tests.contract.http_server import HttpServer, answer, cut, hang, held, stream
from tests.contract.kube.shapes import PODS, bookmark, line, malformed, pod, status


async def collect(client, **arguments):
    return [event async for event in client.watch(Pod, resource_version="5", **arguments)]


async def test_a_watch_asks_for_bookmarks_and_its_own_end(server, client):
    server.on("GET", PODS, stream(bookmark(77)))
    events = await collect(client, label_selector="a=b", seconds=250)
    assert [(event.change, event.resource_version) for event in events] == [(Change.BOOKMARK, "77")]
    assert server.requests[0].query == {
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": "5",
        "timeoutSeconds": "250",
        "labelSelector": "a=b",
    }


@pytest.mark.parametrize("separator", ["\u0085", "\u2028", "\x0b", "\x1c"])
async def test_only_a_line_feed_ends_a_line(server, client, separator):
    odd = pod("a", 6, message=f"one{separator}two")
    server.on("GET", PODS, stream(line("ADDED", odd)))
    (event,) = await collect(client)
    assert event.object.status.message == f"one{separator}two"


async def test_chunks_may_end_anywhere(server, client):
    data = line("ADDED", pod("ä", 6)) + b"\n" + line("DELETED", pod("b", 7)) + bookmark(8)
    for size in (1, 7, len(data)):
        server.on("GET", PODS, stream(*(data[i : i + size] for i in range(0, len(data), size))))
        events = await collect(client)
        assert [(event.change, event.key) for event in events[:2]] == [("ADDED", "ns/ä"), ("DELETED", "ns/b")]
        assert events[2].resource_version == "8"


async def test_a_stream_cut_in_a_line_gives_what_was_whole_and_then_a_retry(server, client):
    server.on("GET", PODS, stream(line("ADDED", pod("a", 6)), line("ADDED", pod("b", 7))[:20], then=cut))
    keys = []

    async def read():
        async for event in client.watch(Pod, resource_version="5"):
            keys.append(event.key)  # noqa: PERF401  # what came before the error counts

    with pytest.raises(Retry):
        await read()
    assert keys == ["ns/a"]


async def test_a_half_open_connection_ends_after_the_allowed_silence(server, client, monkeypatch):
    monkeypatch.setattr("k8s_bridge.kube.transport._SILENCE_MARGIN", 0.3)
    server.on("GET", PODS, stream(line("ADDED", pod("a", 6)), then=hang))
    with pytest.raises(Retry, match="ReadTimeout"):
        await collect(client, seconds=0)


async def test_a_head_that_never_comes_ends_long_before_the_allowed_silence(server, client):
    server.on("GET", PODS, hang)
    started = time.monotonic()
    with pytest.raises(Retry, match="ReadTimeout"):
        await collect(client, seconds=240)
    assert time.monotonic() - started < 5


async def test_a_quiet_watch_outlives_the_limit_for_its_head(server, client):
    gate = asyncio.Event()

    async def quiet(exchange):
        await exchange.head(200, {"Transfer-Encoding": "chunked"})
        await gate.wait()
        await exchange.chunk(bookmark(9))
        await exchange.chunk(b"")

    server.on("GET", PODS, quiet)
    asyncio.get_running_loop().call_later(1.0, gate.set)  # the head must come within 0.5 s
    (event,) = await collect(client)
    assert event.resource_version == "9"


@pytest.mark.parametrize(
    "reply",
    [answer(410, status(410, "Expired")), stream(line("ERROR", status(410, "Expired")), then=hang)],
)
async def test_a_version_too_old_is_gone_as_answer_and_in_the_stream(server, client, reply):
    server.on("GET", PODS, reply)
    with pytest.raises(Gone):
        await collect(client)


async def test_a_malformed_object_is_one_event(server, client):
    server.on("GET", PODS, stream(line("MODIFIED", malformed("a", 6)), line("ADDED", pod("b", 7))))
    first, second = await collect(client)
    assert (first.change, first.key, first.resource_version) == (Change.MALFORMED, "ns/a", "6")
    assert first.error
    assert second.key == "ns/b"


async def test_a_malformed_object_can_still_be_deleted(server, client):
    server.on("GET", PODS, stream(line("DELETED", malformed("a", 6))))
    (event,) = await collect(client)
    assert (event.change, event.key, event.object) == (Change.DELETED, "ns/a", None)


async def test_a_line_above_the_cap_is_refused(server, client):
    server.on("GET", PODS, stream(b"x" * 40_000, b"x" * 40_000, then=hang))
    with pytest.raises(Terminal) as caught:
        await collect(client)
    assert caught.value.reason == "BodyTooLarge"


@pytest.mark.parametrize("phase", ["head", "body"])
async def test_close_ends_a_watch_at_once_without_an_error(server, client, phase):
    gate = asyncio.Event()
    reply = hang if phase == "head" else stream(bookmark(6), then=hang)
    server.on("GET", PODS, reply)
    watch = client.watch(Pod, resource_version="5")

    async def read():
        async for _ in watch:
            gate.set()

    reader = asyncio.create_task(read())
    await (server.arrived("GET", PODS) if phase == "head" else gate.wait())
    started = time.monotonic()
    await watch.close()
    await reader
    assert time.monotonic() - started < 0.4


async def test_close_also_ends_a_watch_that_follows_another(server, client):
    server.on("GET", PODS, stream(bookmark(6)), hang)
    await collect(client)
    watch = client.watch(Pod, resource_version="6")
    reader = asyncio.create_task(anext(watch.events(), None))
    await server.arrived("GET", PODS, count=2)
    started = time.monotonic()
    await watch.close()
    assert await reader is None
    assert time.monotonic() - started < 0.4


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("pki") / "both.pem"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    subject = ["-subj", "/CN=kube", "-addext", "subjectAltName=DNS:kube.example"]
    subprocess.run(
        ["openssl", "req", "-x509", *kind, *subject, "-keyout", path, "-out", f"{path}.crt"],
        check=True,
        capture_output=True,
    )
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


async def test_over_tls_the_name_is_verified_and_close_ends_a_watch_as_well(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    trust = ssl.create_default_context(cafile=certificate)
    gate = asyncio.Event()
    async with HttpServer(tls=context) as server:
        server.on("GET", PODS, stream(bookmark(6), then=hang))
        stranger = ApiServer(base_url=server.url, tls=trust)
        async with KubeClient(stranger) as client:
            with pytest.raises(Retry, match="CERTIFICATE_VERIFY_FAILED"):
                await collect(client)
        known = ApiServer(base_url=server.url, tls=trust, server_name="kube.example")
        async with KubeClient(known) as client:
            watch = client.watch(Pod, resource_version="5")

            async def read():
                async for _ in watch:
                    gate.set()

            reader = asyncio.create_task(read())
            await gate.wait()
            started = time.monotonic()
            await watch.close()
            await reader
            assert time.monotonic() - started < 1.0


async def test_a_handshake_that_hangs_ends_with_the_connect_limit():
    async def silent(reader, writer):
        await reader.read()
        writer.close()

    plain = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = plain.sockets[0].getsockname()[1]
    address = ApiServer(base_url=f"https://127.0.0.1:{port}", tls=ssl.create_default_context())
    async with KubeClient(address, limits=Limits(connect=0.3)) as client:
        watch = client.watch(Pod, resource_version="5")
        reader = asyncio.create_task(anext(watch.events(), None))
        await asyncio.sleep(0.05)
        await watch.close()
        assert await reader is None
    plain.close()


async def test_closing_the_client_ends_its_watches(server, client):
    server.on("GET", PODS, held(asyncio.Event(), answer(200)))
    reader = asyncio.create_task(collect(client))
    await server.arrived("GET", PODS)
    await client.aclose()
    assert await reader == []
