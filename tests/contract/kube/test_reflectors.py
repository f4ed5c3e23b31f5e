from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from api.views import Pod
from k8s_bridge.kube.reflector import Reflector
from k8s_bridge.kube.versions import table_of
from tests.contract.http_server import answer, cut, hang, stream
from tests.contract.kube.shapes import PODS, bookmark, line, malformed, pod, pod_list, status


class Mirror:
    """A reflector at work, and a way to wait until its table looks as it should."""

    def __init__(self, client, **arguments):
        self.table = table_of(Pod)
        self.log: list[str] = []
        self.changed = asyncio.Event()
        self.table.subscribe(self._note)
        self.reflector = Reflector(client, Pod, self.table, rand=lambda: 0.999, **arguments)

    def _note(self, delta):
        sign = "+" if delta.old is None else "-" if delta.new is None else "~"
        self.log.append(sign + delta.key.removeprefix("ns/"))
        self.changed.set()

    def versions(self):
        return {row.metadata.name: row.metadata.resource_version for row in self.table.values()}

    async def becomes(self, **versions):
        while self.versions() != versions:
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), 5)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Mirror]:
        task = asyncio.create_task(self.reflector.run())
        try:
            yield self
        finally:
            self.reflector.stop()
            await task


def deep(body: bytes) -> bytes:
    return body.replace(b'"DEEP"', b'[{"a":' * 5000 + b'"]"' + b"}]" * 5000)


def listing(*items, version):
    return answer(200, pod_list(*items, version=version))


async def test_it_lists_then_follows(server, client, seen):
    events = (line("ADDED", pod("b", 6)), line("MODIFIED", pod("a", 7)), line("DELETED", pod("b", 8)))
    server.on("GET", PODS, listing(pod("a", 1), version=5), stream(*events, then=hang))
    async with Mirror(client).running() as mirror:
        await mirror.becomes(a="7")
        assert mirror.reflector.synced.is_set()
        assert time.monotonic() - mirror.reflector.last_contact < 5
    assert mirror.log == ["+a", "+b", "~a", "-b"]
    assert server.requests[1].query["resourceVersion"] == "5"
    assert 240 <= int(server.requests[1].query["timeoutSeconds"]) <= 300
    assert seen.lists == [1]
    assert seen.errors == []


async def test_nothing_is_synced_before_the_last_page_is_in(server, client):
    server.on("GET", PODS, answer(200, pod_list(pod("a", 1), version=5, more="t")), hang)
    mirror = Mirror(client)
    task = asyncio.create_task(mirror.reflector.run())
    await server.arrived("GET", PODS, count=2)
    assert not mirror.reflector.synced.is_set()
    assert len(mirror.table) == 0
    mirror.reflector.stop()
    await task


@pytest.mark.parametrize("last", [None, cut])
async def test_a_watch_that_ends_goes_on_where_it_was_without_a_new_list(server, client, last):
    server.on(
        "GET",
        PODS,
        listing(pod("a", 1), version=5),
        stream(line("ADDED", pod("b", 6)), bookmark(70), then=last),
        stream(line("ADDED", pod("c", 71)), then=hang),
    )
    async with Mirror(client).running() as mirror:
        await mirror.becomes(a="1", b="6", c="71")
    assert server.requests[2].query["resourceVersion"] == "70"


@pytest.mark.parametrize(
    "gone", [answer(410, status(410, "Expired")), stream(line("ERROR", status(410, "Expired")))]
)
async def test_what_was_deleted_in_a_gap_comes_out_of_the_new_list(server, client, gone):
    server.on(
        "GET",
        PODS,
        listing(pod("a", 1), pod("b", 2), version=5),
        gone,
        listing(pod("b", 12), pod("c", 13), version=20),
        stream(then=hang),
    )
    async with Mirror(client).running() as mirror:
        await mirror.becomes(b="12", c="13")
    assert mirror.log == ["+a", "+b", "~b", "+c", "-a"]


async def test_a_malformed_object_keeps_its_old_row_and_is_reported(server, client, seen):
    server.on(
        "GET",
        PODS,
        listing(pod("a", 1), pod("b", 2), pod("c", 3), version=5),
        stream(line("MODIFIED", malformed("a", 6)), line("ERROR", status(410, "Expired"))),
        listing(malformed("b", 7), pod("d", 8), version=9),
        stream(line("MODIFIED", pod("b", 10)), then=hang),
    )
    async with Mirror(client).running() as mirror:
        await mirror.becomes(b="10", d="8")
    assert seen.malformed == ["ns/a", "ns/b"]
    assert mirror.log == ["+a", "+b", "+c", "+d", "-a", "-c", "~b"]


async def test_an_object_that_nests_without_end_spoils_no_list_and_no_watch(server, client, seen):
    """A field that a definition leaves open can hold what no decoder follows: the whole process ended."""
    listed = pod_list(pod("a", 1, open="DEEP"), pod("b", 2), version=5)
    events = (line("MODIFIED", pod("b", 6, open="DEEP")), line("ADDED", pod("c", 7)))
    server.on(
        "GET", PODS, answer(200, deep(json.dumps(listed).encode())), stream(*map(deep, events), then=hang)
    )
    async with Mirror(client).running() as mirror:
        await mirror.becomes(a="1", b="6", c="7")
    assert seen.malformed == []


async def test_a_malformed_object_without_a_name_may_be_any_so_nothing_is_removed(server, client, seen):
    server.on(
        "GET",
        PODS,
        listing(pod("a", 1), version=5),
        answer(410, status(410, "Expired")),
        listing({"metadata": {"name": 7}}, pod("b", 8), version=9),
        stream(then=hang),
    )
    async with Mirror(client).running() as mirror:
        await mirror.becomes(a="1", b="8")
    assert seen.malformed == [""]


async def test_a_late_deletion_of_an_earlier_object_does_not_remove_its_successor(server, client):
    events = (line("DELETED", pod("a", 4)), line("ADDED", pod("b", 7)))
    server.on("GET", PODS, listing(pod("a", 5), version=5), stream(*events, then=hang))
    async with Mirror(client).running() as mirror:
        await mirror.becomes(a="5", b="7")


async def test_trouble_is_reported_and_tried_again(server, client, seen):
    server.on(
        "GET",
        PODS,
        answer(403, status(403, "Forbidden")),
        answer(503),
        listing(pod("a", 1), version=5),
        stream(then=hang),
    )
    async with Mirror(client).running() as mirror:
        await mirror.becomes(a="1")
    assert [type(error).__name__ for error in seen.errors] == ["Terminal", "Retry"]


async def test_a_server_that_asks_for_patience_gets_it(server, client):
    server.on(
        "GET",
        PODS,
        answer(429, headers={"Retry-After": "1"}),
        listing(pod("a", 1), version=5),
        stream(then=hang),
    )
    started = time.monotonic()
    async with Mirror(client).running() as mirror:
        await mirror.becomes(a="1")
    assert time.monotonic() - started >= 1.0


async def test_a_version_that_the_server_never_had_is_dropped_after_a_few_attempts(server, client):
    too_large = answer(504, status(504, "Timeout"))  # after a restore of etcd
    server.on(
        "GET",
        PODS,
        listing(pod("a", 900), version=999),
        *[too_large] * 3,
        listing(pod("a", 10), version=20),
        stream(then=hang),
    )
    async with Mirror(client).running() as mirror:
        await mirror.becomes(a="900")
        await mirror.becomes(a="10")


@pytest.mark.parametrize(
    "replies", [(hang,), (listing(version=5), hang), (listing(version=5), stream(then=hang))]
)
async def test_it_stops_at_once_in_every_phase(server, client, replies):
    server.on("GET", PODS, *replies)
    reflector = Mirror(client).reflector
    task = asyncio.create_task(reflector.run())
    await server.arrived("GET", PODS, count=len(replies))
    started = time.monotonic()
    reflector.stop()
    await task
    assert time.monotonic() - started < 1.0


async def test_a_cancelled_run_leaves_the_client_usable(server, client):
    server.on("GET", PODS, listing(version=5), stream(then=hang), listing(pod("a", 1), version=6))
    task = asyncio.create_task(Mirror(client).reflector.run())
    await server.arrived("GET", PODS, count=2)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert len((await client.list(Pod)).items) == 1
