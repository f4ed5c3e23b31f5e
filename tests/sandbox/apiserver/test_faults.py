from __future__ import annotations

import time

import httpx
import pytest

from k8s_bridge.sandbox.apiserver.faults import (
    Answer,
    CutWatch,
    Delay,
    Drop,
    Faults,
    HalfOpen,
    LoseAnswer,
    Rule,
    Trickle,
    WatchEnd,
)
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, PODS

PATH = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
JOBSET = {"metadata": {"name": "a"}, "spec": {}}


async def test_an_answer_replaces_serving_as_often_as_told(http, server, storage):
    rule = Rule(fault=Answer(code=429, reason="TooManyRequests", retry_after=3), verb="create", times=2)
    server.faults.add(rule)
    for _ in range(2):
        answer = await http.post(PATH, json=JOBSET)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "3")
        assert answer.json()["reason"] == "TooManyRequests"
    assert storage.list(JOBSETS) == []
    assert (await http.post(PATH, json=JOBSET)).status_code == 201
    assert server.faults.hits(rule) == 2


async def test_a_rule_strikes_its_verb_and_kind_only(http, server):
    server.faults.add(Rule(fault=Answer(code=500), verb="list", kind=PODS))
    assert (await http.get(PATH)).status_code == 200
    assert (await http.get("/api/v1/pods")).status_code == 500
    server.faults.clear()
    assert (await http.get("/api/v1/pods")).status_code == 200


def test_probability_repeats_with_the_seed():
    def strikes(seed):
        faults = Faults(seed=seed)
        faults.add(Rule(fault=Drop(), probability=0.5))
        return [faults.strike(verb="get", kind=PODS) is not None for _ in range(50)]

    assert strikes(1) == strikes(1)
    assert strikes(1) != strikes(2)
    assert 10 < sum(strikes(1)) < 40


async def test_a_dropped_request_is_not_served_but_a_lost_answer_was(http, server, storage):
    server.faults.add(Rule(fault=Drop(), verb="create", times=1))
    with pytest.raises(httpx.TransportError):
        await http.post(PATH, json=JOBSET)
    assert storage.list(JOBSETS) == []
    server.faults.add(Rule(fault=LoseAnswer(), verb="create", times=1))
    with pytest.raises(httpx.TransportError):
        await http.post(PATH, json=JOBSET)
    assert len(storage.list(JOBSETS)) == 1


async def test_a_delay_and_a_trickle_arrive_whole_but_late(http, server, storage):
    storage.create(JOBSETS, JOBSET | {"metadata": {"name": "a", "namespace": "default"}})
    whole = (await http.get(PATH)).json()
    for fault in (Delay(seconds=0.05), Trickle(seconds=0.01, pieces=5)):
        server.faults.add(Rule(fault=fault, times=1))
        begin = time.monotonic()
        answer = await http.get(PATH)
        assert answer.json() == whole
        assert time.monotonic() - begin >= 0.05


async def test_a_half_open_request_hears_nothing(http, server):
    server.faults.add(Rule(fault=HalfOpen(), times=1))
    with pytest.raises(httpx.ReadTimeout):
        await http.get(PATH, timeout=0.2)


@pytest.mark.parametrize("how", [WatchEnd.CLEAN, WatchEnd.GONE, WatchEnd.ABORT])
async def test_a_watch_is_cut_after_so_many_events(server, storage, watching, how):
    server.faults.add(Rule(fault=CutWatch(after=2, how=how), verb="watch", times=1))
    for name in "abc":
        storage.create(JOBSETS, {"metadata": {"name": name, "namespace": "default"}})
    async with watching(PATH) as stream:
        assert [(await stream.seen())[1] for _ in range(2)] == ["a", "b"]
        if how is WatchEnd.ABORT:
            with pytest.raises(httpx.TransportError):
                await stream.rest()
        else:
            codes = [event["object"]["code"] for event in await stream.rest()]
            assert codes == ([410] if how is WatchEnd.GONE else [])


async def test_a_half_open_watch_goes_silent_even_beyond_its_timeout(http, server, storage):
    server.faults.add(Rule(fault=HalfOpen(after=1), verb="watch", times=1))
    for name in "ab":
        storage.create(JOBSETS, {"metadata": {"name": name, "namespace": "default"}})
    query = {"watch": "1", "timeoutSeconds": 1}
    async with http.stream("GET", PATH, params=query, timeout=1.5) as response:
        lines = response.aiter_lines()
        assert '"name":"a"' in await anext(lines)
        with pytest.raises(httpx.ReadTimeout):
            await anext(lines)
