"""Server-side apply: who owns which field, and conflicts in the server's words."""

from __future__ import annotations

from conformance.apiserver.api import OTHER_UID, Api

CM = "configmaps"


async def owners(api: Api, name: str) -> dict[tuple[str, str], object]:
    entries = (await api.get(CM, name)).meta["managedFields"]
    return {(entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in entries}


async def test_apply_creates_and_is_idempotent(api: Api) -> None:
    made = await api.apply(CM, "a", by="one", data={"x": "1"})
    assert made.code == 201
    again = await api.apply(CM, "a", by="one", data={"x": "1"})
    assert (again.code, again.meta["resourceVersion"]) == (200, made.meta["resourceVersion"])
    assert await owners(api, "a") == {("one", "Apply"): {"f:data": {"f:x": {}}}}


async def test_what_another_applied_is_a_conflict_that_names_him(api: Api) -> None:
    await api.apply(CM, "a", by="one", data={"x": "1", "y": "2"})
    refused = await api.apply(CM, "a", by="two", data={"x": "9"})
    assert refused.said == (409, "Conflict")
    assert refused.message == 'Apply failed with 1 conflict: conflict with "one": .data.x'
    assert refused.causes == {(".data.x", "FieldManagerConflict")}
    refused = await api.apply(CM, "a", by="two", data={"x": "9", "y": "9"})
    assert refused.message == 'Apply failed with 2 conflicts: conflicts with "one":\n- .data.x\n- .data.y'


async def test_what_another_wrote_is_a_conflict_too(api: Api) -> None:
    await api.apply(CM, "a", by="one", data={"x": "1"})
    await api.patch(CM, "a", {"data": {"x": "2"}}, fieldManager="two")
    refused = await api.apply(CM, "a", by="one", data={"x": "1"})
    assert refused.message == 'Apply failed with 1 conflict: conflict with "two" using v1: .data.x'


async def test_force_takes_the_field(api: Api) -> None:
    await api.apply(CM, "a", by="one", data={"x": "1", "y": "2"})
    taken = await api.apply(CM, "a", by="two", data={"x": "9"}, query={"force": "true"})
    assert (taken.code, taken.body["data"]) == (200, {"x": "9", "y": "2"})
    assert await owners(api, "a") == {
        ("one", "Apply"): {"f:data": {"f:y": {}}},
        ("two", "Apply"): {"f:data": {"f:x": {}}},
    }


async def test_a_field_stays_while_somebody_applies_it(api: Api) -> None:
    await api.apply(CM, "a", by="one", data={"x": "1", "y": "2"})
    await api.apply(CM, "a", by="two", data={"x": "1"})
    left = await api.apply(CM, "a", by="one")
    assert left.body["data"] == {"x": "1"}
    gone = await api.apply(CM, "a", by="two")
    assert "data" not in gone.body


async def test_a_status_is_applied_apart(api: Api) -> None:
    await api.create("localqueues", "a")
    condition = {
        "type": "Mine",
        "status": "True",
        "reason": "R",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    done = await api.apply("localqueues", "a", by="one", sub="status", status={"conditions": [condition]})
    assert done.code == 200
    assert condition in done.body["status"]["conditions"]
    entry = next(entry for entry in done.meta["managedFields"] if entry["manager"] == "one")
    assert (entry["operation"], entry["subresource"]) == ("Apply", "status")


async def test_a_uid_binds_an_apply_to_one_object(api: Api) -> None:
    gone = await api.apply("localqueues", "a", by="one", meta={"uid": OTHER_UID})
    assert gone.said == (409, "Conflict")
    assert gone.message.endswith(
        f"uid mismatch: the provided object specified uid {OTHER_UID}, and no existing object was found"
    )
    await api.create("localqueues", "a")
    other = await api.apply("localqueues", "a", by="one", meta={"uid": OTHER_UID}, query={"force": "true"})
    assert (other.said, other.causes) == ((422, "Invalid"), {("metadata.uid", "FieldValueInvalid")})


async def test_what_cannot_be_applied(api: Api) -> None:
    nobody = await api.patch(CM, "a", api.manifest(CM, "a"), how="apply")
    assert (nobody.said, nobody.causes) == ((422, "Invalid"), {("fieldManager", "FieldValueRequired")})
    fields = await api.apply(CM, "a", by="one", meta={"managedFields": [{"manager": "x"}]})
    assert (fields.said, fields.message) == ((400, "BadRequest"), "metadata.managedFields must be nil")
    unknown = await api.apply("localqueues", "a", by="one", spec={"clusterQueue": "cq", "nosuch": 1})
    assert unknown.code == 500
    assert unknown.message.endswith(": .spec.nosuch: field not declared in schema")


async def test_a_dry_run_shows_the_conflict_and_leaves_everything(api: Api) -> None:
    await api.apply(CM, "a", by="one", data={"x": "1"})
    dry = {"dryRun": "All"}
    assert (await api.apply(CM, "a", by="two", data={"x": "9"}, query=dry)).code == 409
    forced = await api.apply(CM, "a", by="two", data={"x": "9"}, query={**dry, "force": "true"})
    assert forced.body["data"] == {"x": "9"}
    assert (await api.get(CM, "a")).body["data"] == {"x": "1"}


async def test_managed_fields_can_be_thrown_away(api: Api) -> None:
    await api.apply(CM, "a", by="one", data={"x": "1"})
    trimmed = await api.patch(CM, "a", {"metadata": {"managedFields": [{}]}})
    assert "managedFields" not in trimmed.meta
