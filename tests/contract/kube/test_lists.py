from __future__ import annotations

import pytest

from api.views import Pod
from k8s_bridge.core.errors import Retry
from k8s_bridge.kube.errors import Gone
from tests.contract.http_server import answer
from tests.contract.kube.shapes import PODS, malformed, pod, pod_list, status


async def test_a_list_comes_in_pages_of_500(server, client):
    server.on(
        "GET",
        PODS,
        answer(200, pod_list(pod("a", 1), version=9, more="t1")),
        answer(200, pod_list(pod("b", 2), version=9)),
    )
    listing = await client.list(Pod, label_selector="app=x")
    assert [item.metadata.name for item in listing.items] == ["a", "b"]
    assert listing.resource_version == "9"
    assert server.requests[0].query == {"limit": "500", "labelSelector": "app=x"}
    assert server.requests[1].query == {"limit": "500", "labelSelector": "app=x", "continue": "t1"}


async def test_a_snapshot_that_expires_while_paging_is_begun_again(server, client):
    server.on(
        "GET",
        PODS,
        answer(200, pod_list(pod("a", 1), version=9, more="t1")),
        answer(410, status(410, "Expired")),
        answer(200, pod_list(pod("b", 12), version=20)),
    )
    listing = await client.list(Pod)
    assert [item.metadata.name for item in listing.items] == ["b"]
    assert listing.resource_version == "20"
    assert "continue" not in server.requests[2].query


async def test_a_snapshot_that_always_expires_is_given_up(server, client):
    first = answer(200, pod_list(pod("a", 1), version=9, more="t1"))
    server.on("GET", PODS, *[first, answer(410, status(410, "Expired"))] * 5)
    with pytest.raises(Gone):
        await client.list(Pod)
    assert len(server.requests) == 8


async def test_null_items_are_an_empty_list(server, client):
    server.on("GET", PODS, answer(200, {"metadata": {"resourceVersion": "3"}, "items": None}))
    listing = await client.list(Pod)
    assert (listing.items, listing.resource_version) == ([], "3")


async def test_a_malformed_item_is_set_aside_and_the_list_lives_on(server, client):
    items = [pod("a", 1), malformed("b", 2), {"metadata": 7}, pod("c", 3)]
    server.on("GET", PODS, answer(200, pod_list(*items, version=9)))
    listing = await client.list(Pod)
    assert [item.metadata.name for item in listing.items] == ["a", "c"]
    assert [item.key for item in listing.malformed] == ["ns/b", ""]


async def test_a_body_that_is_no_list_is_a_retry_not_an_empty_list(server, client):
    server.on("GET", PODS, answer(200, b"<html>login</html>"), answer(200, b'{"items": "none"}'))
    for _ in range(2):
        with pytest.raises(Retry):
            await client.list(Pod)
