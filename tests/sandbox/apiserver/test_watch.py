from __future__ import annotations

import asyncio

from k8s_bridge.sandbox.apiserver import watching as watch_module
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, NAMESPACES
from k8s_bridge.sandbox.apiserver.server import ApiServer
from k8s_bridge.sandbox.apiserver.storage import Storage

PATH = "/apis/jobset.x-k8s.io/v1alpha2/jobsets"


def create(storage, name="a", **labels):
    return storage.create(JOBSETS, {"metadata": {"name": name, "namespace": "default", "labels": labels}})


def patch(storage, name, patch):
    return storage.patch(JOBSETS, "default", name, patch)


async def test_a_watch_without_version_begins_with_what_is_there(storage, watching):
    create(storage, "a")
    async with watching(PATH) as stream:
        assert await stream.seen() == ("ADDED", "a")
        create(storage, "b")
        assert await stream.seen() == ("ADDED", "b")


async def test_a_watch_goes_on_after_its_version(storage, watching):
    rv = create(storage, "a")["metadata"]["resourceVersion"]
    patch(storage, "a", {"spec": {"suspend": True}})
    storage.delete(JOBSETS, "default", "a")
    async with watching(PATH, resourceVersion=rv) as stream:
        modified, deleted = await stream.next(), await stream.next()
    assert (modified["type"], modified["object"]["spec"]) == ("MODIFIED", {"suspend": True})
    assert (deleted["type"], deleted["object"]["metadata"]["name"]) == ("DELETED", "a")
    versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in (modified, deleted)]
    assert int(rv) < versions[0] < versions[1]


async def test_a_watch_of_one_namespace_hears_nothing_of_others(storage, watching):
    storage.create(NAMESPACES, {"metadata": {"name": "other"}})
    async with watching("/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets") as stream:
        storage.create(JOBSETS, {"metadata": {"name": "x", "namespace": "other"}})
        create(storage, "mine")
        assert await stream.seen() == ("ADDED", "mine")


async def test_entering_and_leaving_a_selection_shows_as_added_and_deleted(storage, watching):
    rv = create(storage, "a", app="no")["metadata"]["resourceVersion"]
    async with watching(PATH, labelSelector="app=yes", resourceVersion=rv) as stream:
        patch(storage, "a", {"metadata": {"labels": {"app": "yes"}}})
        patch(storage, "a", {"spec": {"suspend": True}})
        left = patch(storage, "a", {"metadata": {"labels": {"app": "no"}}})
        events = [await stream.next() for _ in range(3)]
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    last = events[-1]["object"]["metadata"]
    assert (last["labels"], last["resourceVersion"]) == ({"app": "yes"}, left["metadata"]["resourceVersion"])


async def test_a_field_selector_by_name_follows_one_object(storage, watching):
    async with watching(PATH, fieldSelector="metadata.name=b") as stream:
        create(storage, "a")
        create(storage, "b")
        storage.delete(JOBSETS, "default", "b")
        assert [await stream.seen(), await stream.seen()] == [("ADDED", "b"), ("DELETED", "b")]


async def test_a_version_that_is_too_old_ends_in_the_stream_with_410(storage, server, watching):
    rv = create(storage, "a")["metadata"]["resourceVersion"]
    create(storage, "b")
    server.forget_history()
    async with watching(PATH, resourceVersion=rv) as stream:
        assert stream.response.status_code == 200
        (only,) = await stream.rest()
    assert only["type"] == "ERROR"
    assert (only["object"]["code"], only["object"]["reason"]) == (410, "Expired")
    assert only["object"]["message"].startswith(f"too old resource version: {rv} (")


async def test_the_ring_forgets_by_itself_but_keeps_what_it_promises(clock):
    storage = Storage(clock=clock, history=10)
    versions = [int(create(storage, f"j{i}")["metadata"]["resourceVersion"]) for i in range(40)]
    log = storage.logs[JOBSETS]
    assert log.position(versions[5]) is None
    assert [event.rv for event in log.since(log.position(versions[30]))] == versions[31:]


async def test_the_present_version_is_never_too_old(storage, server, watching):
    rv = create(storage, "a")["metadata"]["resourceVersion"]
    server.forget_history()
    async with watching(PATH, resourceVersion=rv) as stream:
        create(storage, "b")
        assert await stream.seen() == ("ADDED", "b")


async def test_a_watch_ends_by_its_timeout_with_a_bookmark(storage, watching):
    create(storage, "a")
    async with watching(PATH, timeoutSeconds=1, allowWatchBookmarks="true") as stream:
        added, bookmark = await stream.rest()
    assert (added["type"], bookmark["type"]) == ("ADDED", "BOOKMARK")
    assert bookmark["object"] == {
        "kind": "JobSet",
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "metadata": {"resourceVersion": str(storage.rv)},
    }


async def test_bookmarks_come_only_to_those_who_asked(watching):
    async with watching(PATH, timeoutSeconds=1) as stream:
        assert await stream.rest() == []


async def test_bookmarks_come_while_nothing_happens(storage, watching, monkeypatch):
    monkeypatch.setattr(watch_module, "BOOKMARK_SECONDS", 0.05)
    async with watching(PATH, allowWatchBookmarks="true") as stream:
        first = await stream.next()
        storage.create(NAMESPACES, {"metadata": {"name": "elsewhere"}})
        second = await stream.next()
    assert (first["type"], second["type"]) == ("BOOKMARK", "BOOKMARK")


async def test_a_burst_reaches_every_watcher_in_order(storage, watching):
    async with watching(PATH) as one, watching(PATH, labelSelector="odd=1") as other:
        for number in range(100):
            create(storage, f"j{number:03}", odd=str(number % 2))
        assert [(await one.seen())[1] for _ in range(100)] == [f"j{n:03}" for n in range(100)]
        assert [(await other.seen())[1] for _ in range(50)] == [f"j{n:03}" for n in range(1, 100, 2)]


async def test_a_version_that_is_no_number_is_refused(http):
    answer = await http.get(PATH, params={"watch": "1", "resourceVersion": "soon"})
    assert answer.status_code == 400


async def test_stopping_the_server_ends_its_watches(storage):
    import httpx  # noqa: PLC0415

    server = ApiServer(storage)
    await server.start()
    async with (
        httpx.AsyncClient(base_url=server.url) as client,
        client.stream("GET", PATH, params={"watch": "1"}) as response,
    ):
        stopping = asyncio.create_task(server.stop())
        assert [line async for line in response.aiter_lines()] == []
        await stopping


async def test_a_peer_that_leaves_is_forgotten(server, watching, storage):
    async with watching(PATH):
        (watch,) = server.app._watches
    async with asyncio.timeout(5):
        await watch.closed.wait()
    await asyncio.sleep(0)
    assert not server.app._watches
    assert not storage.logs[JOBSETS]._waiters


def test_bytes_are_made_once_for_all_readers(storage):
    create(storage, "a")
    (row,) = storage.rows(JOBSETS)
    (event,) = storage.logs[JOBSETS].since(0)
    assert row is event.stored
    assert row.body is row.body
    assert event.line is event.line
