from __future__ import annotations

import pytest

from k8s_bridge.sandbox.apiserver.errors import ApiError
from k8s_bridge.sandbox.apiserver.kinds import EVENTS, JOBS, JOBSETS, NODES, PODS, Propagation
from k8s_bridge.sandbox.apiserver.patches import PatchType


def jobset(name="a", **spec):
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


def pod(name="p", **spec):
    meta = {"name": name, "namespace": "default"}
    return {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def test_a_new_object_gets_what_only_the_server_gives(storage):
    made = storage.create(JOBSETS, jobset(suspend=True) | {"status": {"restarts": 9}})
    meta = made["metadata"]
    assert (made["apiVersion"], made["kind"]) == ("jobset.x-k8s.io/v1alpha2", "JobSet")
    assert meta["generation"] == 1
    assert meta["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert len(meta["uid"]) == 36
    assert int(meta["resourceVersion"]) == storage.rv
    assert "status" not in made


def test_a_node_registers_with_its_status(storage):
    node = {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "1"}}}
    assert storage.create(NODES, node)["status"] == {"capacity": {"cpu": "1"}}


def test_what_was_put_in_can_be_changed_without_changing_what_is_stored(storage):
    mine = jobset(suspend=True)
    storage.create(JOBSETS, mine)
    mine["spec"]["suspend"] = False
    assert storage.get(JOBSETS, "default", "a")["spec"] == {"suspend": True}


def test_generation_counts_spec_changes_only(storage):
    storage.create(JOBSETS, jobset(suspend=True))

    def patched(patch, subresource=""):
        made = storage.patch(JOBSETS, "default", "a", patch, subresource=subresource)
        return made["metadata"]["generation"]

    assert patched({"metadata": {"labels": {"x": "y"}}}) == 1
    assert patched({"status": {"restarts": 1}}, "status") == 1
    assert patched({"spec": {"suspend": False}}) == 2


def test_status_and_spec_cannot_be_written_through_each_other(storage):
    storage.create(JOBSETS, jobset(suspend=True))
    both = {"spec": {"suspend": False}, "status": {"restarts": 3}}
    after = storage.patch(JOBSETS, "default", "a", both)
    assert (after["spec"], after.get("status")) == ({"suspend": False}, None)
    both = {"metadata": {"labels": {"x": "y"}}, "spec": {"suspend": True}, "status": {"restarts": 3}}
    after = storage.patch(JOBSETS, "default", "a", both, subresource="status")
    assert (after["spec"], after["status"]) == ({"suspend": False}, {"restarts": 3})
    assert "labels" not in after["metadata"]


def test_a_write_that_changes_nothing_makes_no_version(storage):
    made = storage.create(JOBSETS, jobset(suspend=True))
    assert storage.update(JOBSETS, made) is made
    assert storage.patch(JOBSETS, "default", "a", {"spec": {"suspend": True}}) is made
    assert storage.rv == int(made["metadata"]["resourceVersion"])


def test_a_stale_version_is_refused_with_the_servers_words(storage):
    made = storage.create(JOBSETS, jobset(suspend=True))
    storage.patch(JOBSETS, "default", "a", {"spec": {"suspend": False}})
    with pytest.raises(ApiError) as refused:
        storage.update(JOBSETS, made)
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")
    assert str(refused.value) == (
        'Operation cannot be fulfilled on jobsets.jobset.x-k8s.io "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


def test_a_custom_resource_is_not_replaced_blindly_but_a_pod_is(storage):
    storage.create(JOBSETS, jobset(suspend=True))
    with pytest.raises(ApiError, match="must be specified for an update"):
        storage.update(JOBSETS, jobset(suspend=False))
    storage.create(PODS, pod())
    assert storage.update(PODS, pod(nodeName="n"))["spec"]["nodeName"] == "n"


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ({"metadata": {"namespace": "default"}}, 422),
        ({"metadata": {"name": "Not_A_Name", "namespace": "default"}}, 422),
        ({"metadata": {"name": "a"}}, 400),
        ({"metadata": {"name": "a", "namespace": "nowhere"}}, 404),
        ({"metadata": {"name": "a", "namespace": "default", "resourceVersion": "5"}}, 400),
    ],
)
def test_what_cannot_be_created(storage, bad, code):
    with pytest.raises(ApiError) as refused:
        storage.create(JOBSETS, bad)
    assert refused.value.code == code


def test_a_taken_name_is_refused_but_a_generated_one_finds_a_free_one(storage):
    storage.create(JOBSETS, jobset())
    with pytest.raises(ApiError, match=r'^jobsets\.jobset\.x-k8s\.io "a" already exists$'):
        storage.create(JOBSETS, jobset())
    generated = {"metadata": {"generateName": "p-", "namespace": "default"}, "spec": {}}
    names = {storage.create(PODS, generated)["metadata"]["name"] for _ in range(50)}
    assert len(names) == 50
    assert all(len(name) == 7 for name in names)


def test_names_and_uids_repeat_with_the_seed(clock):
    from k8s_bridge.sandbox.apiserver.storage import Storage  # noqa: PLC0415

    first, second = (Storage(clock=clock, seed=7).create(JOBSETS, jobset()) for _ in range(2))
    assert first["metadata"]["uid"] == second["metadata"]["uid"]


def test_a_pod_goes_in_the_three_steps_the_kubelet_knows(storage, clock):
    storage.create(PODS, pod(nodeName="n", terminationGracePeriodSeconds=20))
    seen = []
    storage.subscribe(PODS, lambda change, obj: seen.append((str(change), obj["metadata"])))
    storage.delete(PODS, "default", "p")
    clock.advance(3)
    storage.delete(PODS, "default", "p", grace_seconds=0)
    steps = [
        (c, m["deletionTimestamp"][-3:-1], m["deletionGracePeriodSeconds"], m["generation"]) for c, m in seen
    ]
    assert steps == [("MODIFIED", "20", 20, 2), ("MODIFIED", "03", 0, 2), ("DELETED", "03", 0, 2)]
    assert storage.find(PODS, "default", "p") is None


@pytest.mark.parametrize("bound", [{}, {"nodeName": "n"}])
def test_a_pod_without_node_or_that_has_ended_goes_at_once(storage, bound):
    storage.create(PODS, pod(**bound))
    storage.patch(PODS, "default", "p", {"status": {"phase": "Failed"}}, subresource="status")
    storage.delete(PODS, "default", "p")
    assert storage.find(PODS, "default", "p") is None


def test_a_second_delete_can_only_shorten_the_grace(storage):
    storage.create(PODS, pod(nodeName="n"))
    first = storage.delete(PODS, "default", "p", grace_seconds=10)
    assert storage.delete(PODS, "default", "p", grace_seconds=60) is first
    assert storage.delete(PODS, "default", "p") is first


def test_a_finalizer_holds_an_object_until_it_is_taken_away(storage):
    storage.create(JOBSETS, jobset() | {"metadata": jobset()["metadata"] | {"finalizers": ["a/b"]}})
    marked = storage.delete(JOBSETS, "default", "a")["metadata"]
    assert (marked["deletionTimestamp"], marked["generation"]) == ("2026-01-01T00:00:00Z", 2)
    with pytest.raises(ApiError, match=r'found new finalizers \[\]string\{"c/d"\}'):
        storage.patch(JOBSETS, "default", "a", {"metadata": {"finalizers": ["a/b", "c/d"]}})
    storage.patch(JOBSETS, "default", "a", {"metadata": {"finalizers": None}})
    assert storage.find(JOBSETS, "default", "a") is None


def test_a_pods_finalizer_and_its_grace_both_hold_it(storage):
    made = pod(nodeName="n")
    made["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking"]
    storage.create(PODS, made)
    storage.delete(PODS, "default", "p", grace_seconds=5)
    storage.patch(PODS, "default", "p", {"metadata": {"finalizers": None}})
    assert storage.find(PODS, "default", "p") is not None
    storage.delete(PODS, "default", "p", grace_seconds=0)
    assert storage.find(PODS, "default", "p") is None


def test_deletion_and_update_respect_uid_preconditions(storage):
    made = storage.create(JOBSETS, jobset())
    with pytest.raises(ApiError, match=r"the UID in the precondition \(other\) does not match"):
        storage.delete(JOBSETS, "default", "a", uid="other")
    with pytest.raises(ApiError, match=r"metadata\.uid: Invalid value"):
        storage.patch(JOBSETS, "default", "a", {"metadata": {"uid": "other"}})
    storage.delete(JOBSETS, "default", "a", uid=made["metadata"]["uid"])


def test_a_job_orphans_its_pods_unless_told_otherwise(storage):
    for propagation, finalizers in ((None, ["orphan"]), (Propagation.FOREGROUND, ["foregroundDeletion"])):
        storage.create(JOBS, jobset(str(propagation).lower()))
        left = storage.delete(JOBS, "default", str(propagation).lower(), propagation=propagation)
        assert left["metadata"]["finalizers"] == finalizers


def test_subscribers_see_changes_in_order_even_if_one_of_them_writes(storage):
    def resume(change, obj):
        if obj["spec"].get("suspend"):
            storage.patch(JOBSETS, "default", "a", {"spec": {"suspend": False}})

    seen = []
    storage.subscribe(JOBSETS, resume)
    unsubscribe = storage.subscribe(
        JOBSETS, lambda change, obj: seen.append((str(change), obj["spec"]["suspend"]))
    )
    storage.create(JOBSETS, jobset(suspend=True))
    assert seen == [("ADDED", True), ("MODIFIED", False)]
    unsubscribe()
    storage.delete(JOBSETS, "default", "a")
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ("", ["a", "b", "c"]),
        ("app=x", ["a", "b"]),
        ("app==x,tier!=web", ["b"]),
        ("app in (x, y)", ["a", "b"]),
        ("app notin (x)", ["c"]),
        ("!app", ["c"]),
        ("app", ["a", "b"]),
        ("example.com/q=1", ["c"]),
    ],
)
def test_label_selectors(storage, labels, names):
    for name, own in (
        ("a", {"app": "x", "tier": "web"}),
        ("b", {"app": "x"}),
        ("c", {"example.com/q": "1"}),
    ):
        storage.create(JOBSETS, {"metadata": {"name": name, "namespace": "default", "labels": own}})
    assert [o["metadata"]["name"] for o in storage.list(JOBSETS, label_selector=labels)] == names


def test_field_selectors_are_those_the_kind_supports(storage):
    storage.create(PODS, pod("a", nodeName="n1"))
    storage.create(PODS, pod("b", nodeName="n2"))
    found = storage.list(PODS, field_selector="spec.nodeName=n2,status.phase!=Running")
    assert [o["metadata"]["name"] for o in found] == ["b"]
    with pytest.raises(ApiError, match=r'field label not supported: "spec\.suspend"'):
        storage.list(JOBSETS, field_selector="spec.suspend=true")
    with pytest.raises(ApiError, match="unable to parse requirement"):
        storage.list(JOBSETS, label_selector="a=b=c")


def test_lists_are_ordered_by_namespace_and_name(storage):
    from k8s_bridge.sandbox.apiserver.kinds import NAMESPACES  # noqa: PLC0415

    storage.create(NAMESPACES, {"metadata": {"name": "alpha"}})
    for namespace, name in (("default", "b"), ("alpha", "z"), ("default", "a")):
        storage.create(PODS, {"metadata": {"name": name, "namespace": namespace}, "spec": {}})
    found = [(o["metadata"]["namespace"], o["metadata"]["name"]) for o in storage.list(PODS)]
    assert found == [("alpha", "z"), ("default", "a"), ("default", "b")]
    assert len(storage.list(PODS, namespace="default")) == 2


def test_an_event_has_no_generation(storage):
    made = storage.create(EVENTS, {"metadata": {"name": "e", "namespace": "default"}, "reason": "R"})
    assert "generation" not in made["metadata"]


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([{"op": "replace", "path": "/spec/list/0", "value": 9}], [9, 2]),
        ([{"op": "add", "path": "/spec/list/-", "value": 3}], [1, 2, 3]),
        ([{"op": "add", "path": "/spec/list/0", "value": 0}], [0, 1, 2]),
        ([{"op": "remove", "path": "/spec/list/1"}], [1]),
        ([{"op": "test", "path": "/spec/list/0", "value": 1}, {"op": "remove", "path": "/spec/list/0"}], [2]),
        ([{"op": "move", "from": "/spec/list/0", "path": "/spec/list/1"}], [2, 1]),
    ],
)
def test_json_patches(storage, operations, expected):
    storage.create(JOBSETS, jobset(list=[1, 2]))
    made = storage.patch(JOBSETS, "default", "a", operations, patch_type=PatchType.JSON)
    assert made["spec"]["list"] == expected


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/spec/x", "value": 2},
        {"op": "replace", "path": "/spec/none", "value": 2},
        {"op": "remove", "path": "/spec/none/deeper"},
        {"op": "add", "path": "/spec/list/7", "value": 1},
    ],
)
def test_a_json_patch_that_does_not_fit_changes_nothing(storage, operation):
    made = storage.create(JOBSETS, jobset(x=1, list=[]))
    with pytest.raises(ApiError) as refused:
        storage.patch(JOBSETS, "default", "a", [operation], patch_type=PatchType.JSON)
    assert refused.value.code == 422
    assert storage.get(JOBSETS, "default", "a") is made


def test_a_strategic_merge_knows_keyed_lists(storage):
    storage.create(PODS, pod())
    patch = {"spec": {"containers": [{"name": "c", "image": "new"}, {"name": "d", "image": "x"}]}}
    made = storage.patch(PODS, "default", "p", patch, patch_type=PatchType.STRATEGIC)
    assert made["spec"]["containers"] == [{"name": "c", "image": "new"}, {"name": "d", "image": "x"}]
    patch = {"spec": {"containers": [{"name": "c", "$patch": "delete"}]}}
    made = storage.patch(PODS, "default", "p", patch, patch_type=PatchType.STRATEGIC)
    assert [c["name"] for c in made["spec"]["containers"]] == ["d"]
