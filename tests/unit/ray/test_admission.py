"""What the webhook makes of a request: the policies' own words, and never an open door."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from k8s_bridge.ray import names
from k8s_bridge.ray.admission.answers import changed, judged
from k8s_bridge.ray.admission.certificates import LIFE, bundle, is_due, issue
from k8s_bridge.ray.admission.configurations import Where, configurations
from k8s_bridge.ray.admission.patching import merged, operations

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RAYJOBS = {"group": "ray.io", "version": "v1", "resource": "rayjobs"}


def request(**spec: Any) -> dict[str, Any]:
    job = {"metadata": {"name": "job"}, "spec": {"clusterSelector": {"ray.io/cluster": "shared"}} | spec}
    return {
        "uid": "1",
        "operation": "CREATE",
        "resource": RAYJOBS,
        "object": job,
        "oldObject": None,
        "userInfo": {"username": "ann", "groups": ["users"]},
    }


def mixing(cluster: str, **pool: Any) -> dict[str, Any]:
    mapping = {"pool": "default", "workloadPriorityClass": "low"} | pool
    return {"spec": {"ray": {"managedClusters": [{"name": cluster}], "poolMappings": [mapping]}}}


def test_what_no_workloadmixing_manages_passes_as_it_is():
    for mixings in ([], [mixing("another")], [{"spec": {}}]):
        assert changed(request(backoffLimit=1), mixings) == {"uid": "1", "allowed": True}
        assert judged(request(backoffLimit=1), mixings) == {"uid": "1", "allowed": True}


def test_of_several_workloadmixings_the_one_that_manages_the_cluster_counts():
    closed = mixing("shared", allowedUsers=["bob"])

    answer = judged(request(), [mixing("another"), closed])

    assert answer["allowed"] is False
    assert answer["status"]["message"] == "user ann may not use pool 'default'"
    assert len(operations_of(changed(request(), [mixing("another"), closed, closed]))) == 3


def operations_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return json.loads(base64.b64decode(answer["patch"]))


@pytest.mark.parametrize("ask", [changed, judged])
def test_what_cannot_be_understood_is_refused(ask):
    broken = request() | {"object": {"metadata": {"name": "job"}}}
    answer = ask(broken, [mixing("shared")])
    assert answer["allowed"] is False
    assert "no such key: spec" in answer["status"]["message"]


def test_a_patch_says_what_was_added_and_no_more():
    old = {"metadata": {"labels": {"a/b": "1"}}, "spec": {"gates": [{"name": "x"}], "on": True}}
    wish = {
        "metadata": {"labels": {"c/d": "2"}, "annotations": {"e": "f"}},
        "spec": {"gates": [{"name": "x"}, {"name": "y"}], "on": False},
    }
    assert list(operations(old, merged(old, wish))) == [
        {"op": "add", "path": "/metadata/labels/c~1d", "value": "2"},
        {"op": "add", "path": "/metadata/annotations", "value": {"e": "f"}},
        {"op": "add", "path": "/spec/gates", "value": [{"name": "x"}, {"name": "y"}]},
        {"op": "add", "path": "/spec/on", "value": False},
    ]


def test_everything_fails_closed_and_only_where_it_is_meant_to():
    where = Where(service="webhook", namespace="platform", namespaces=["science"])
    webhooks = [webhook for obj in configurations("0-name", where) for webhook in obj["webhooks"]]
    assert {webhook["failurePolicy"] for webhook in webhooks} == {"Fail"}
    for webhook in webhooks:
        selector = webhook["namespaceSelector"]
        assert selector["matchLabels"] == {names.MANAGED_NAMESPACE: "true"}
        assert selector["matchExpressions"][0]["values"] == ["science"]
        assert not any("params" in condition["expression"] for condition in webhook["matchConditions"])
        assert webhook["matchConditions"]


def test_a_certificate_is_renewed_before_it_ends_and_for_another_host():
    pair = issue("webhook.platform.svc", now=NOW)
    assert not is_due(pair, "webhook.platform.svc", now=NOW + LIFE * 0.6)
    assert is_due(pair, "webhook.platform.svc", now=NOW + LIFE * 0.7)
    assert is_due(pair, "webhook.other.svc", now=NOW)


def test_what_has_ended_vouches_for_nothing():
    old, new = issue("a", now=NOW - 2 * LIFE), issue("a", now=NOW)
    assert bundle(new.certificate, old.certificate, new.certificate, "nonsense", now=NOW) == new.certificate
    assert bundle(old.certificate, now=NOW - LIFE - timedelta(days=1)) == old.certificate
