"""Leases and Events, which the bridge writes."""

from __future__ import annotations

from typing import Any

import pytest
from conformance.apiserver.api import Api

LEASE = {
    "holderIdentity": "me",
    "leaseDurationSeconds": 15,
    "acquireTime": "2026-01-01T00:00:00.123456Z",
    "renewTime": "2026-01-01T00:00:00.000000Z",
    "leaseTransitions": 0,
}


async def test_a_lease_keeps_its_times_to_the_microsecond(api: Api) -> None:
    made = await api.create("leases", "l", spec=LEASE)
    assert (made.code, made.body["spec"]) == (201, LEASE)


async def test_a_lease_is_given_back_with_an_empty_holder(api: Api) -> None:
    made = await api.create("leases", "l", spec=LEASE)
    version = made.meta["resourceVersion"]
    patch = {
        "metadata": {"resourceVersion": version},
        "spec": {"holderIdentity": "", "leaseDurationSeconds": 1},
    }
    given = await api.patch("leases", "l", patch)
    assert (given.code, given.body["spec"]["holderIdentity"]) == (200, "")
    assert (await api.patch("leases", "l", patch)).said == (409, "Conflict")


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"leaseDurationSeconds": 0}, "spec.leaseDurationSeconds"),
        ({"leaseTransitions": -1}, "spec.leaseTransitions"),
        ({"renewTime": "2026-01-02T00:00:00Z"}, "patch"),
        ({"renewTime": "2026-01-02T00:00:00.5Z"}, "patch"),
        ({"renewTime": "yesterday"}, "patch"),
    ],
)
async def test_leases_that_cannot_be(api: Api, spec: dict[str, Any], field: str) -> None:
    await api.create("leases", "l", spec=LEASE)
    refused = await api.patch("leases", "l", {"spec": spec})
    assert (refused.said, refused.causes) == ((422, "Invalid"), {(field, "FieldValueInvalid")})


def event(namespace: str) -> dict[str, Any]:
    return {
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "namespace": namespace,
            "name": "a",
            "uid": "u",
        },
        "type": "Normal",
        "reason": "R",
        "message": "m",
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
        "source": {"component": "c"},
        "reportingComponent": "c",
        "reportingInstance": "i",
    }


async def test_an_event_is_written_once_and_counted(api: Api) -> None:
    body = event(api.namespace)
    assert (await api.create("events", "e", **body)).code == 201
    assert (await api.create("events", "e", **body)).said == (409, "AlreadyExists")
    counted = await api.patch("events", "e", {"count": 2, "lastTimestamp": "2026-01-01T00:00:01Z"})
    assert (counted.code, counted.body["count"]) == (200, 2)


@pytest.mark.parametrize("elsewhere", ["default", ""])
async def test_an_event_stands_in_the_namespace_of_its_object(api: Api, elsewhere: str) -> None:
    refused = await api.create("events", "e", **event(elsewhere))
    assert (refused.said, refused.causes) == (
        (422, "Invalid"),
        {("involvedObject.namespace", "FieldValueInvalid")},
    )
