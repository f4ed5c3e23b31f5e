"""Deleting: preconditions, finalizers, grace."""

from __future__ import annotations

from conformance.apiserver.api import OTHER_UID, Api

CM = "configmaps"


async def test_a_deletion_tells_what_is_gone(api: Api) -> None:
    made = await api.create("localqueues", "a")
    gone = await api.delete("localqueues", "a", propagationPolicy="Background")
    assert (gone.code, gone.body["status"]) == (200, "Success")
    assert gone.body["details"] == {
        "name": "a",
        "group": "kueue.x-k8s.io",
        "kind": "localqueues",
        "uid": made.meta["uid"],
    }


async def test_preconditions_of_a_deletion(api: Api) -> None:
    made = await api.create("localqueues", "a")
    uid = made.meta["uid"]
    other = await api.delete("localqueues", "a", preconditions={"uid": OTHER_UID})
    assert other.said == (409, "Conflict")
    assert other.message == (
        'Operation cannot be fulfilled on LocalQueue.kueue.x-k8s.io "a": the UID in the precondition '
        f"({OTHER_UID}) does not match the UID in record ({uid}). "
        "The object might have been deleted and then recreated"
    )
    stale = await api.delete("localqueues", "a", preconditions={"resourceVersion": "1"})
    assert stale.said == (409, "Conflict")
    assert "the ResourceVersion in the precondition (1) does not match" in stale.message
    assert (await api.delete("localqueues", "a", preconditions={"uid": uid})).code == 200


async def test_a_policy_that_is_none(api: Api) -> None:
    await api.create(CM, "a")
    refused = await api.delete(CM, "a", propagationPolicy="Sometimes")
    assert (refused.said, refused.causes) == (
        (422, "Invalid"),
        {("propagationPolicy", "FieldValueNotSupported")},
    )


async def test_a_finalizer_holds_an_object(api: Api) -> None:
    await api.create("localqueues", "a", meta={"finalizers": ["x.io/hold"]})
    marked = await api.delete("localqueues", "a")
    assert (marked.code, marked.meta["deletionGracePeriodSeconds"]) == (200, 0)
    assert (marked.meta["generation"], "deletionTimestamp" in marked.meta) == (2, True)
    again = await api.delete("localqueues", "a")
    assert again.meta["deletionTimestamp"] == marked.meta["deletionTimestamp"]
    more = await api.patch("localqueues", "a", {"metadata": {"finalizers": ["x.io/hold", "x.io/more"]}})
    assert (more.said, more.causes) == ((422, "Invalid"), {("metadata.finalizers", "FieldValueForbidden")})
    assert (await api.patch("localqueues", "a", {"metadata": {"labels": {"x": "1"}}})).code == 200
    freed = await api.patch("localqueues", "a", {"metadata": {"finalizers": None}})
    assert (freed.code, "finalizers" in freed.meta) == (200, False)
    assert (await api.get("localqueues", "a")).code == 404


async def test_foreground_and_orphan_are_finalizers_of_the_server(api: Api) -> None:
    for policy, finalizer in (("Foreground", "foregroundDeletion"), ("Orphan", "orphan")):
        await api.create(CM, "a", meta={"finalizers": ["x.io/hold"]})
        marked = await api.delete(CM, "a", propagationPolicy=policy)
        assert sorted(marked.meta["finalizers"]) == sorted(["x.io/hold", finalizer])
        await api.patch(CM, "a", {"metadata": {"finalizers": None}})
        assert (await api.get(CM, "a")).code == 404


async def test_a_collection_is_deleted_by_its_labels(api: Api) -> None:
    for name in ("a", "b", "c"):
        await api.create(CM, name, meta={"labels": {"x": "1" if name < "c" else "2"}})
    gone = await api.call("DELETE", api.path(CM), query={"labelSelector": "x=1"})
    assert [item["metadata"]["name"] for item in gone.body["items"]] == ["a", "b"]
    assert await api.names(CM, labelSelector="x") == ["c"]
