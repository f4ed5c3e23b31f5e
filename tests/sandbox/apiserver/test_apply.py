from __future__ import annotations

from functools import partial

import pytest

from k8s_bridge.sandbox.apiserver.apply import Force
from k8s_bridge.sandbox.apiserver.errors import ApiError
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS
from k8s_bridge.sandbox.apiserver.patches import PatchType


@pytest.fixture
def apply(storage):
    return partial(storage.patch, JOBSETS, "default", "a", patch_type=PatchType.APPLY, field_manager="us")


@pytest.fixture
def merge(storage):
    return partial(storage.patch, JOBSETS, "default", "a", field_manager="kueue")


def config(*, labels=None, **spec):
    return {"metadata": {"name": "a", "labels": labels or {}}, "spec": spec}


def job(name, **fields):
    return {"name": name, **fields}


def owners(obj):
    entries = obj["metadata"]["managedFields"]
    return {(e["manager"], e["operation"], e.get("subresource", "")): e["fieldsV1"] for e in entries}


def test_apply_creates_and_says_what_it_owns(apply):
    made = apply(config(suspend=True, replicatedJobs=[job("w", replicas=1)]))
    assert made["metadata"]["generation"] == 1
    assert owners(made)["us", "Apply", ""] == {
        "f:metadata": {"f:labels": {}},
        "f:spec": {
            "f:replicatedJobs": {'k:{"name":"w"}': {".": {}, "f:name": {}, "f:replicas": {}}},
            "f:suspend": {},
        },
    }


def test_applying_the_same_twice_is_applying_it_once(apply, storage):
    made = apply(config(suspend=True, replicatedJobs=[job("w")]))
    assert apply(config(suspend=True, replicatedJobs=[job("w")])) is made


def test_what_is_no_longer_applied_goes(apply):
    apply(config(labels={"a": "1", "b": "2"}, suspend=True, replicatedJobs=[job("v"), job("w", replicas=2)]))
    made = apply(config(labels={"a": "1"}, replicatedJobs=[job("w")]))
    assert made["metadata"]["labels"] == {"a": "1"}
    assert made["spec"] == {"replicatedJobs": [{"name": "w"}]}


def test_what_others_set_stays(apply, merge):
    apply(config(labels={"mine": "1"}, replicatedJobs=[job("w")]))
    merge({"metadata": {"labels": {"theirs": "1"}}, "spec": {"managedBy": "x"}})
    made = apply(config(labels={}, replicatedJobs=[job("w")]))
    assert made["metadata"]["labels"] == {"theirs": "1"}
    assert made["spec"]["managedBy"] == "x"


def test_a_field_somebody_else_changed_is_a_conflict_that_names_him(apply, merge):
    apply(config(suspend=True))
    merge({"spec": {"suspend": False}})
    with pytest.raises(ApiError) as refused:
        apply(config(suspend=True))
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")
    assert str(refused.value) == (
        'Apply failed with 1 conflict: conflict with "kueue" using jobset.x-k8s.io/v1alpha2: .spec.suspend'
    )
    assert refused.value.details["causes"][0]["field"] == ".spec.suspend"
    assert refused.value.details["causes"][0]["reason"] == "FieldManagerConflict"


def test_agreeing_on_a_value_shares_it_and_no_longer_applying_it_leaves_it(apply, merge):
    apply(config(suspend=True))
    merge({"spec": {"suspend": False}})
    shared = apply(config(suspend=False))
    assert "f:suspend" in owners(shared)["us", "Apply", ""]["f:spec"]
    assert "f:suspend" in owners(shared)["kueue", "Update", ""]["f:spec"]
    assert apply(config())["spec"] == {"suspend": False}


def test_force_takes_the_field_and_its_ownership(apply, merge):
    apply(config(suspend=True))
    merge({"spec": {"suspend": False}})
    made = apply(config(suspend=True), force=Force.YES)
    assert made["spec"] == {"suspend": True}
    assert list(owners(made)) == [("us", "Apply", "")]


def test_two_appliers_own_their_own_items_of_a_list(apply, storage):
    apply(config(replicatedJobs=[job("v", replicas=1)]))
    made = storage.patch(
        JOBSETS,
        "default",
        "a",
        config(replicatedJobs=[job("w", replicas=2)]),
        patch_type=PatchType.APPLY,
        field_manager="them",
    )
    assert [j["name"] for j in made["spec"]["replicatedJobs"]] == ["v", "w"]
    made = apply({"metadata": {"name": "a"}})
    assert made["spec"]["replicatedJobs"] == [{"name": "w", "replicas": 2}]


def test_an_item_stays_while_somebody_owns_a_part_of_it(apply, merge):
    apply(config(replicatedJobs=[job("w", replicas=1)]))
    merge({"spec": {"replicatedJobs": [{"name": "w", "replicas": 1, "groupName": "g"}]}})
    made = apply({"metadata": {"name": "a"}})
    assert made["spec"]["replicatedJobs"][0]["groupName"] == "g"


def test_status_and_spec_are_owned_apart(apply):
    apply(config(suspend=True) | {"status": {"restarts": 1}})
    made = apply({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, subresource="status")
    assert made["status"] == {"conditions": [{"type": "Ready", "status": "True"}]}
    assert owners(made)["us", "Apply", "status"] == {
        "f:status": {"f:conditions": {'k:{"type":"Ready"}': {".": {}, "f:status": {}, "f:type": {}}}}
    }
    assert apply(config(suspend=True))["status"] == made["status"]


def test_a_status_is_not_applied_to_what_is_not_there(apply):
    with pytest.raises(ApiError, match="not found"):
        apply({"status": {}}, subresource="status")


def test_an_atomic_list_is_one_value(apply, merge):
    apply(config(order=["x", "y"]))
    made = merge({"spec": {"order": ["x", "z"]}})
    assert owners(made)["kueue", "Update", ""] == {"f:spec": {"f:order": {}}}
    with pytest.raises(ApiError, match=r"conflict.*\.spec\.order"):
        apply(config(order=["x", "y"]))


def test_several_conflicts_are_all_listed(apply, merge):
    apply(config(suspend=True, replicatedJobs=[job("w", replicas=1)]))
    merge({"spec": {"suspend": False, "replicatedJobs": [{"name": "w", "replicas": 5}]}})
    with pytest.raises(ApiError, match="Apply failed with 2 conflicts") as refused:
        apply(config(suspend=True, replicatedJobs=[job("w", replicas=1)]))
    fields = [cause["field"] for cause in refused.value.details["causes"]]
    assert fields == ['.spec.replicatedJobs[name="w"].replicas', ".spec.suspend"]


def test_preconditions_hold_for_apply_too(apply):
    made = apply(config(suspend=True))
    stale = {"metadata": {"name": "a", "resourceVersion": "1"}, "spec": {"suspend": False}}
    with pytest.raises(ApiError, match="the object has been modified"):
        apply(stale)
    other = {"metadata": {"name": "a", "uid": "other"}, "spec": {"suspend": False}}
    with pytest.raises(ApiError, match=r"metadata\.uid: Invalid value"):
        apply(other)
    assert made["spec"] == {"suspend": True}


def test_a_plain_write_takes_the_field_away_from_who_applied_it(apply, merge):
    apply(config(suspend=True, order=["x"]))
    made = merge({"spec": {"suspend": False, "order": None}})
    assert owners(made) == {
        ("us", "Apply", ""): {"f:metadata": {"f:labels": {}}},
        ("kueue", "Update", ""): {"f:spec": {"f:suspend": {}}},
    }
