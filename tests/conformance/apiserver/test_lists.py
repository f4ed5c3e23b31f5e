"""Lists: pages and selectors."""

from __future__ import annotations

import pytest
from conformance.apiserver.api import Api

LQ = "localqueues"


async def five(api: Api) -> None:
    for number in range(5):
        await api.create(LQ, f"q{number}", meta={"labels": {"all": "1", "n": str(number)}})


async def test_pages_show_one_moment(api: Api) -> None:
    await five(api)
    first = await api.list(LQ, limit="2")
    assert [item["metadata"]["name"] for item in first.body["items"]] == ["q0", "q1"]
    assert (first.body["kind"], first.meta["remainingItemCount"]) == ("LocalQueueList", 3)
    await api.delete(LQ, "q3")
    second = await api.list(LQ, limit="2", **{"continue": first.meta["continue"]})
    assert [item["metadata"]["name"] for item in second.body["items"]] == ["q2", "q3"]
    assert second.meta["resourceVersion"] == first.meta["resourceVersion"]
    last = await api.list(LQ, limit="2", **{"continue": second.meta["continue"]})
    assert [item["metadata"]["name"] for item in last.body["items"]] == ["q4"]
    assert not last.meta.get("continue")


async def test_a_page_token_that_is_none(api: Api) -> None:
    refused = await api.list(LQ, limit="2", **{"continue": "zzz"})
    assert refused.said == (400, "BadRequest")


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("all=1,n in (1,2)", ["q1", "q2"]),
        ("n notin (1,2),all", ["q0", "q3", "q4"]),
        ("n==1", ["q1"]),
        ("all, n=3", ["q3"]),
        ("n!=1,all=1", ["q0", "q2", "q3", "q4"]),
        ("!all", []),
    ],
)
async def test_label_selectors(api: Api, selector: str, found: list[str]) -> None:
    await five(api)
    assert await api.names(LQ, labelSelector=selector) == found


async def test_field_selectors(api: Api) -> None:
    await five(api)
    assert await api.names(LQ, fieldSelector="metadata.name=q1") == ["q1"]
    assert await api.names(LQ, fieldSelector="metadata.name!=q1") == ["q0", "q2", "q3", "q4"]
    for selector in ("spec.clusterQueue=cq", "nonsense"):
        assert (await api.list(LQ, fieldSelector=selector)).said == (400, "BadRequest")


async def test_an_empty_list_has_a_version(api: Api) -> None:
    empty = await api.list("leases")
    assert (empty.body["kind"], empty.body["items"]) == ("LeaseList", [])
    assert int(empty.meta["resourceVersion"]) > 0
