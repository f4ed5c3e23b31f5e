from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from k8s_bridge.core.effects import Event, EventType, ObjectRef
from k8s_bridge.kube.events import EventRecorder
from tests.contract.http_server import answer
from tests.contract.kube.shapes import ref, status

EVENTS = "/api/v1/namespaces/ns/events"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def event(message="job 7 runs", *, about: ObjectRef | None = None) -> Event:
    return Event(ref=about or ref(uid="u7"), type=EventType.NORMAL, reason="Released", message=message)


def recorder(client):
    return EventRecorder(client, component="k8s-bridge", instance="pod-1")


def path_of(server, *, nth=0):
    return f"{EVENTS}/{server.to('POST', EVENTS)[nth].json()['metadata']['name']}"


async def test_an_event_is_about_its_object(server, client):
    server.on("POST", EVENTS, answer(201, {}))
    await recorder(client).emit(event(), now=NOW)
    body = server.requests[0].json()
    assert body["involvedObject"] == {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "namespace": "ns",
        "name": "slurm-job-7",
        "uid": "u7",
    }
    assert (body["type"], body["reason"], body["message"]) == ("Normal", "Released", "job 7 runs")
    assert (body["count"], body["firstTimestamp"]) == (1, "2026-01-02T03:04:05Z")
    assert body["reportingComponent"] == "k8s-bridge"


async def test_repeats_are_counted_on_the_same_event(server, client):
    server.on("POST", EVENTS, answer(201, {}))
    events = recorder(client)
    await events.emit(event(), now=NOW)
    server.on("PATCH", path_of(server), answer(200, {}))
    for minute in (1, 2):
        await events.emit(event(), now=NOW + timedelta(minutes=minute))
    await events.emit(event("another text"), now=NOW)
    patches = server.to("PATCH", path_of(server))
    assert [patch.json() for patch in patches] == [
        {"count": 2, "lastTimestamp": "2026-01-02T03:05:05Z"},
        {"count": 3, "lastTimestamp": "2026-01-02T03:06:05Z"},
    ]
    assert len(server.to("POST", EVENTS)) == 2


async def test_a_restart_goes_on_counting(server, client):
    server.on("POST", EVENTS, answer(201, {}), answer(409, status(409, "AlreadyExists")))
    await recorder(client).emit(event(), now=NOW)
    path = path_of(server)
    server.on("GET", path, answer(200, {"metadata": {"name": "e"}, "count": 41}))
    server.on("PATCH", path, answer(200, {}))
    await recorder(client).emit(event(), now=NOW)
    assert server.to("PATCH", path)[0].json()["count"] == 42


async def test_an_event_that_expired_is_created_again(server, client):
    server.on("POST", EVENTS, answer(201, {}))
    events = recorder(client)
    await events.emit(event(), now=NOW)
    server.on("PATCH", path_of(server), answer(404, status(404, "NotFound")))
    await events.emit(event(), now=NOW + timedelta(hours=2))
    second = server.to("POST", EVENTS)[1].json()
    assert (second["count"], second["firstTimestamp"]) == (1, "2026-01-02T05:04:05Z")


async def test_a_noisy_object_is_throttled_and_the_others_are_not(server, client, seen):
    server.on("POST", EVENTS, answer(201, {}))
    events = recorder(client)
    for number in range(40):
        await events.emit(event(f"text {number}"), now=NOW)
    assert (len(server.requests), len(seen.dropped)) == (25, 15)
    await events.emit(event(about=ref(uid="another")), now=NOW)
    await events.emit(event("later"), now=NOW + timedelta(minutes=1))
    assert (len(server.requests), len(seen.dropped)) == (27, 15)


async def test_what_was_throttled_is_in_the_next_count(server, client):
    server.on("POST", EVENTS, answer(201, {}))
    events = recorder(client)
    await events.emit(event(), now=NOW)
    server.on("PATCH", path_of(server), answer(200, {}))
    for _ in range(29):
        await events.emit(event(), now=NOW)
    await events.emit(event(), now=NOW + timedelta(minutes=1))
    assert server.to("PATCH", path_of(server))[-1].json()["count"] == 31


async def test_a_refused_event_does_not_reach_the_caller(server, client, seen):
    server.on("POST", EVENTS, answer(403, status(403, "Forbidden")), answer(201, {}))
    events = recorder(client)
    await events.emit(event(), now=NOW)
    assert [dropped.reason for dropped in seen.dropped] == ["Released"]
    await events.emit(event(), now=NOW)
    assert server.requests[1].json()["count"] == 2


async def test_the_same_event_twice_at_once_counts_two(server, client):
    server.on("POST", EVENTS, answer(201, {}), answer(409, status(409, "AlreadyExists")))
    events = recorder(client)
    name = "slurm-job-7"
    first = asyncio.create_task(events.emit(event(), now=NOW))
    await server.arrived("POST", EVENTS)
    path = path_of(server)
    server.on("GET", path, answer(200, {"metadata": {"name": name}, "count": 1}))
    server.on("PATCH", path, answer(200, {}))
    await asyncio.gather(first, events.emit(event(), now=NOW))
    assert server.to("PATCH", path)[0].json()["count"] == 2


async def test_events_about_nodes_live_in_default_and_long_texts_are_cut(server, client):
    node = ObjectRef(api_version="v1", kind="Node", plural="nodes", namespace="", name="n" * 250)
    server.on("POST", "/api/v1/namespaces/default/events", answer(201, {}))
    await recorder(client).emit(event("ä" * 2000, about=node), now=NOW)
    body = server.requests[0].json()
    assert len(body["message"].encode()) <= 1024
    assert len(body["metadata"]["name"]) <= 253
