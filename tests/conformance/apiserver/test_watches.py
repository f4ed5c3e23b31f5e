"""Watches: what comes after a version, what a selector shows, and how a watch ends."""

from __future__ import annotations

import asyncio
from typing import Any

from conformance.apiserver.api import Api

CM = "configmaps"


async def told(events: asyncio.Queue[Any], count: int) -> list[tuple[str, str]]:
    """(type, name) of the next events, bookmarks left out."""
    found: list[tuple[str, str]] = []
    async with asyncio.timeout(20):
        while len(found) < count:
            event = await events.get()
            if event["type"] != "BOOKMARK":
                found.append((event["type"], event["object"]["metadata"]["name"]))
    return found


async def version(api: Api) -> str:
    return str((await api.list(CM)).meta["resourceVersion"])


async def test_a_watch_goes_on_after_its_version(api: Api) -> None:
    await api.create(CM, "before")
    async with api.watching(
        CM, resourceVersion=await version(api), fieldSelector="metadata.name=a"
    ) as events:
        await api.create(CM, "a")
        await api.patch(CM, "a", {"metadata": {"labels": {"x": "1"}}})
        await api.delete(CM, "a")
        assert await told(events, 3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_without_a_version_it_begins_with_what_is_there(api: Api) -> None:
    for name in ("a", "b"):
        await api.create(CM, name, meta={"labels": {"mine": "1"}})
    for query in ({}, {"resourceVersion": "0"}):
        async with api.watching(CM, labelSelector="mine", **query) as events:
            assert sorted(await told(events, 2)) == [("ADDED", "a"), ("ADDED", "b")]


async def test_what_leaves_a_selection_is_deleted_for_its_watcher(api: Api) -> None:
    start = await version(api)
    async with api.watching(CM, resourceVersion=start, labelSelector="w=1") as events:
        await api.create(CM, "a", meta={"labels": {"w": "1"}})
        await api.patch(CM, "a", {"data": {"x": "1"}})
        await api.patch(CM, "a", {"metadata": {"labels": {"w": "2"}}})
        back = await api.patch(CM, "a", {"metadata": {"labels": {"w": "1"}}})
        await api.create(CM, "b", meta={"labels": {"w": "2"}})
        await api.delete(CM, "a")
        seen = await told(events, 5)
    assert seen == [(kind, "a") for kind in ("ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED")]
    assert back.code == 200


async def test_what_left_a_selection_is_shown_as_it_was_under_its_new_version(api: Api) -> None:
    await api.create(CM, "a", meta={"labels": {"w": "1"}})
    async with api.watching(CM, resourceVersion=await version(api), labelSelector="w=1") as events:
        left = await api.patch(CM, "a", {"metadata": {"labels": {"w": "2"}}})
        event = await asyncio.wait_for(events.get(), 20)
    meta = event["object"]["metadata"]
    assert (event["type"], meta["labels"]) == ("DELETED", {"w": "1"})
    assert meta["resourceVersion"] == left.meta["resourceVersion"]


async def test_a_finalizer_that_goes_last_shows_as_a_deletion(api: Api) -> None:
    await api.create(CM, "a", meta={"finalizers": ["x.io/hold"]})
    async with api.watching(CM, resourceVersion=await version(api)) as events:
        await api.delete(CM, "a")
        await api.patch(CM, "a", {"metadata": {"finalizers": None}})
        assert await told(events, 2) == [("MODIFIED", "a"), ("DELETED", "a")]


async def test_a_watch_of_one_name(api: Api) -> None:
    start = await version(api)
    async with api.watching(CM, resourceVersion=start, fieldSelector="metadata.name=b") as events:
        for name in ("a", "b"):
            await api.create(CM, name)
        assert await told(events, 1) == [("ADDED", "b")]


async def test_a_watch_ends_by_its_timeout_without_an_error(api: Api) -> None:
    start = await version(api)
    async with api.watching(CM, resourceVersion=start, timeoutSeconds="1") as events:
        async with asyncio.timeout(20):
            while (event := await events.get()) is not None:
                assert event["type"] == "BOOKMARK"


async def test_a_version_that_is_no_number(api: Api) -> None:
    query = {"watch": "1", "resourceVersion": "abc", "timeoutSeconds": "1"}
    refused = await api.http.get(api.path(CM), params=query)
    assert refused.status_code >= 400
