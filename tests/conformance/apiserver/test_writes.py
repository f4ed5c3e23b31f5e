"""Creating, replacing, patching: what is stored, and what is refused in which words."""

from __future__ import annotations

import pytest
from conformance.apiserver.api import OTHER_UID, Api

STALE = "the object has been modified; please apply your changes to the latest version and try again"


async def test_a_new_object_gets_what_only_the_server_gives(api: Api) -> None:
    made = await api.create("configmaps", "a", data={"x": "1"}, query={"fieldManager": "me"})
    assert made.code == 201
    assert {"uid", "resourceVersion", "creationTimestamp", "managedFields"} <= made.meta.keys()
    (owner,) = made.meta["managedFields"]
    assert (owner["manager"], owner["operation"], owner["fieldsType"]) == ("me", "Update", "FieldsV1")
    assert owner["fieldsV1"] == {"f:data": {".": {}, "f:x": {}}}


async def test_a_name_is_taken_once(api: Api) -> None:
    await api.create("configmaps", "a")
    again = await api.create("configmaps", "a")
    assert again.said == (409, "AlreadyExists")
    assert again.message == 'configmaps "a" already exists'
    assert again.body["details"] == {"name": "a", "kind": "configmaps"}


@pytest.mark.parametrize("name", ["A", "a_b", "-a", "a-", "a..b"])
@pytest.mark.parametrize("plural", ["configmaps", "localqueues"])
async def test_names_that_cannot_be(api: Api, plural: str, name: str) -> None:
    refused = await api.create(plural, name)
    assert refused.said == (422, "Invalid")
    assert ("metadata.name", "FieldValueInvalid") in refused.causes


async def test_a_generated_name_has_five_letters_more(api: Api) -> None:
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-"}}
    made = await api.call("POST", api.path("configmaps"), document)
    assert len(made.meta["name"]) == len("g-") + 5
    assert made.meta["generateName"] == "g-"


@pytest.mark.parametrize("plural", ["configmaps", "localqueues"])
@pytest.mark.parametrize(
    ("field", "content", "reason"),
    [
        ("labels", {"a b": "c"}, "FieldValueInvalid"),
        ("labels", {"a": "c d"}, "FieldValueInvalid"),
        ("labels", {"a": "c" * 64}, "FieldValueInvalid"),
        ("labels", {"x.io/" + "a" * 64: "c"}, "FieldValueInvalid"),
        ("annotations", {"a b": "c"}, "FieldValueInvalid"),
        ("annotations", {"a": "c" * 262_144}, "FieldValueTooLong"),
    ],
)
async def test_labels_and_annotations_that_cannot_be(
    api: Api, plural: str, field: str, content: dict[str, str], reason: str
) -> None:
    refused = await api.create(plural, "a", meta={field: content})
    assert refused.said == (422, "Invalid")
    assert (f"metadata.{field}", reason) in refused.causes
    await api.create(plural, "b")
    refused = await api.patch(plural, "b", {"metadata": {field: content}})
    assert (refused.said, (f"metadata.{field}", reason) in refused.causes) == ((422, "Invalid"), True)


async def test_labels_are_texts(api: Api) -> None:
    refused = await api.create("localqueues", "a", meta={"labels": {"a": 5}})
    assert refused.said == (400, "BadRequest")


async def test_nothing_is_created_where_no_namespace_is(api: Api) -> None:
    path = "/api/v1/namespaces/conf-api-nosuch/configmaps"
    refused = await api.call("POST", path, api.manifest("configmaps", "a"))
    assert refused.said == (404, "NotFound")
    assert refused.message == 'namespaces "conf-api-nosuch" not found'


async def test_documents_for_another_place(api: Api) -> None:
    elsewhere = await api.create("configmaps", "a", meta={"namespace": "default"})
    assert elsewhere.said == (400, "BadRequest")
    other = await api.call("POST", api.path("configmaps"), api.manifest("pods", "a"))
    assert other.said == (400, "BadRequest")
    await api.create("configmaps", "a")
    path = api.path("configmaps", "a")
    renamed = await api.call("PUT", path, api.manifest("configmaps", "b"))
    assert renamed.said == (400, "BadRequest")
    assert (await api.patch("configmaps", "a", {"metadata": {"name": "b"}})).said == (400, "BadRequest")


async def test_a_merge_patch_sets_and_deletes(api: Api) -> None:
    await api.create("configmaps", "a", data={"x": "1", "y": "2"})
    patched = await api.patch("configmaps", "a", {"data": {"x": None, "z": "3"}})
    assert (patched.code, patched.body["data"]) == (200, {"y": "2", "z": "3"})
    again = await api.patch("configmaps", "a", {"data": {"z": "3"}})
    assert again.meta["resourceVersion"] == patched.meta["resourceVersion"]


async def test_a_json_patch_adds_tests_and_is_refused_as_a_whole(api: Api) -> None:
    await api.create("localqueues", "a")
    done = await api.patch(
        "localqueues", "a", [{"op": "add", "path": "/metadata/labels", "value": {"x": "1"}}], how="json"
    )
    assert (done.code, done.meta["labels"]) == (200, {"x": "1"})
    for operation in (
        {"op": "test", "path": "/spec/clusterQueue", "value": "other"},
        {"op": "remove", "path": "/spec/nosuch"},
    ):
        refused = await api.patch("localqueues", "a", [operation], how="json")
        assert refused.said == (422, "Invalid")
        assert refused.message == "the server rejected our request due to an error in our request"


async def test_custom_resources_take_no_strategic_patch(api: Api) -> None:
    await api.create("localqueues", "a")
    assert (await api.patch("localqueues", "a", {"spec": {}}, how="strategic")).code == 415


@pytest.mark.parametrize("plural", ["configmaps", "localqueues"])
async def test_a_stale_version_is_refused(api: Api, plural: str) -> None:
    made = await api.create(plural, "a")
    await api.patch(plural, "a", {"metadata": {"labels": {"x": "1"}}})
    old = {"resourceVersion": made.meta["resourceVersion"]}
    for refused in (
        await api.patch(plural, "a", {"metadata": {**old, "labels": {"x": "2"}}}),
        await api.put(plural, "a", meta=old),
    ):
        assert refused.said == (409, "Conflict")
        assert refused.message.endswith(f'"a": {STALE}')


@pytest.mark.parametrize("plural", ["configmaps", "localqueues"])
async def test_a_uid_is_a_precondition_that_is_called_immutable(api: Api, plural: str) -> None:
    made = await api.create(plural, "a")
    refused = await api.patch(plural, "a", {"metadata": {"uid": OTHER_UID, "labels": {"x": "1"}}})
    assert (refused.said, refused.causes) == ((422, "Invalid"), {("metadata.uid", "FieldValueInvalid")})
    version = {"resourceVersion": made.meta["resourceVersion"]}
    refused = await api.put(plural, "a", meta={"uid": OTHER_UID, **version})
    assert refused.said == (409, "Conflict")
    assert f"Precondition failed: UID in precondition: {OTHER_UID}" in refused.message


async def test_a_custom_resource_is_not_replaced_blindly(api: Api) -> None:
    await api.create("localqueues", "a")
    refused = await api.put("localqueues", "a")
    assert (refused.said, refused.causes) == (
        (422, "Invalid"),
        {("metadata.resourceVersion", "FieldValueInvalid")},
    )
    await api.create("configmaps", "a")
    assert (await api.put("configmaps", "a", data={"x": "1"})).code == 200


async def test_what_is_not_there(api: Api) -> None:
    for answer in (
        await api.get("localqueues", "nosuch"),
        await api.patch("localqueues", "nosuch", {"spec": {}}),
        await api.put("localqueues", "nosuch", meta={"resourceVersion": "1"}),
        await api.delete("localqueues", "nosuch"),
    ):
        assert answer.said == (404, "NotFound")
        assert answer.message == 'localqueues.kueue.x-k8s.io "nosuch" not found'
    await api.create("configmaps", "a")
    assert (await api.call("GET", api.path("configmaps", "a", "status"))).code == 404
    assert (await api.call("POST", api.path("configmaps", "a"), api.manifest("configmaps", "a"))).said == (
        405,
        "MethodNotAllowed",
    )


async def test_a_dry_run_answers_and_changes_nothing(api: Api) -> None:
    dry = {"dryRun": "All"}
    made = await api.create("localqueues", "a", query=dry)
    assert (made.code, "uid" in made.meta, "resourceVersion" in made.meta) == (201, True, False)
    assert (await api.get("localqueues", "a")).code == 404
    assert (await api.create("localqueues", "A", query=dry)).code == 422
    await api.create("localqueues", "a")
    patched = await api.patch("localqueues", "a", {"metadata": {"labels": {"x": "1"}}}, **dry)
    assert patched.meta["labels"] == {"x": "1"}
    assert "labels" not in (await api.get("localqueues", "a")).meta
    assert (await api.delete("localqueues", "a", dryRun=["All"])).code == 200
    assert (await api.get("localqueues", "a")).code == 200
