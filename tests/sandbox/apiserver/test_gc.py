from __future__ import annotations

import asyncio
import contextlib

import pytest

from k8s_bridge.sandbox.apiserver.kinds import JOBS, JOBSETS, NAMESPACES, PODS, WORKLOADS, Propagation
from k8s_bridge.sandbox.gc import GarbageCollector


def make(storage, kind, name, *owners, **more):
    refs = [
        {
            "apiVersion": o["apiVersion"],
            "kind": o["kind"],
            "name": o["metadata"]["name"],
            "uid": o["metadata"]["uid"],
            "blockOwnerDeletion": True,
        }
        for o in owners
    ]
    meta = {"name": name, "namespace": "default", "ownerReferences": refs, **more}
    return storage.create(kind, {"metadata": meta, "spec": {}})


@pytest.fixture
def collector(storage):
    return GarbageCollector(storage)


@pytest.fixture
def family(storage):
    jobset = make(storage, JOBSETS, "js")
    job = make(storage, JOBS, "job", jobset)
    make(storage, WORKLOADS, "wl", jobset)
    for name in ("p0", "p1"):
        make(storage, PODS, name, job)
    return jobset


def left(storage):
    return [
        obj["metadata"]["name"] for kind in (JOBSETS, JOBS, WORKLOADS, PODS) for obj in storage.list(kind)
    ]


def test_nothing_is_collected_while_the_owner_lives(storage, collector, family):
    collector.process()
    assert left(storage) == ["js", "job", "wl", "p0", "p1"]


def test_background_takes_the_whole_family_once_the_owner_is_gone(storage, collector, family):
    storage.delete(JOBSETS, "default", "js")
    assert left(storage) == ["job", "wl", "p0", "p1"]
    collector.process()
    assert left(storage) == []


def test_foreground_keeps_the_owner_until_what_blocks_it_is_gone(storage, collector, family):
    storage.patch(PODS, "default", "p0", {"spec": {"nodeName": "n"}})
    storage.delete(JOBSETS, "default", "js", propagation=Propagation.FOREGROUND)
    collector.process()
    assert left(storage) == ["js", "job", "p0"]
    storage.delete(PODS, "default", "p0", grace_seconds=0)
    collector.process()
    assert left(storage) == []


def test_orphaned_dependents_stay_without_their_reference(storage, collector, family):
    storage.delete(JOBS, "default", "job", propagation=Propagation.ORPHAN)
    collector.process()
    assert left(storage) == ["js", "wl", "p0", "p1"]
    assert "ownerReferences" not in storage.get(PODS, "default", "p0")["metadata"]


def test_a_dependent_of_two_lives_as_long_as_one_of_them(storage, collector):
    one, other = make(storage, JOBSETS, "one"), make(storage, JOBSETS, "other")
    make(storage, PODS, "p", one, other)
    storage.delete(JOBSETS, "default", "one")
    collector.process()
    references = storage.get(PODS, "default", "p")["metadata"]["ownerReferences"]
    assert [reference["name"] for reference in references] == ["other"]
    storage.delete(JOBSETS, "default", "other")
    collector.process()
    assert storage.list(PODS) == []


def test_what_is_created_for_an_owner_that_is_gone_goes(storage, collector, family):
    storage.delete(JOBSETS, "default", "js")
    collector.process()
    make(storage, WORKLOADS, "late", family)
    collector.process()
    assert storage.list(WORKLOADS) == []


def test_a_finalizer_of_a_dependent_is_respected(storage, collector, family):
    storage.patch(WORKLOADS, "default", "wl", {"metadata": {"finalizers": ["kueue.x-k8s.io/managed"]}})
    storage.delete(JOBSETS, "default", "js")
    collector.process()
    assert "deletionTimestamp" in storage.get(WORKLOADS, "default", "wl")["metadata"]


def test_a_namespace_takes_what_is_in_it(storage, collector, family):
    storage.delete(NAMESPACES, "", "default")
    collector.process()
    assert left(storage) == []


async def test_running_it_needs_no_more_than_events(storage, family):
    collector = GarbageCollector(storage)
    running = asyncio.create_task(collector.run())
    gone = asyncio.Event()
    storage.subscribe(PODS, lambda *_: None if storage.list(PODS) else gone.set())
    storage.delete(JOBSETS, "default", "js")
    async with asyncio.timeout(5):
        await gone.wait()
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    assert left(storage) == []
