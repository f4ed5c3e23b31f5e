"""Custom resources are pruned, defaulted and validated by their schemas."""

from __future__ import annotations

from typing import Any

import pytest
from conformance.apiserver.api import OTHER_UID, Api

UNCHECKED = ("<nil>", "FieldValueInvalid")
PODS = "spec.replicatedJobs[0].template.spec.template.spec"
C = {"name": "c", "image": "x"}


def jobset(containers: Any = (C,), **spec: Any) -> dict[str, Any]:
    pod = {} if containers is None else {"containers": list(containers)}
    job = {"name": "w", "template": {"spec": {"template": {"spec": pod}}}}
    return {"spec": {"replicatedJobs": [job], **spec}}


@pytest.mark.parametrize(
    ("plural", "parts", "field", "reason"),
    [
        ("localqueues", {"spec": {"clusterQueue": 5}}, "spec.clusterQueue", "FieldValueTypeInvalid"),
        (
            "localqueues",
            {"spec": {"clusterQueue": "cq", "stopPolicy": "Foo"}},
            "spec.stopPolicy",
            "FieldValueNotSupported",
        ),
        ("localqueues", {"spec": {"clusterQueue": "C Q"}}, "spec.clusterQueue", "FieldValueInvalid"),
        ("workloads", {"spec": {"queueName": "q", "podSets": []}}, "spec.podSets", "FieldValueInvalid"),
        ("jobsets", jobset(containers=None), f"{PODS}.containers", "FieldValueTypeInvalid"),
        ("jobsets", jobset(containers=[C, C]), f"{PODS}.containers[1]", "FieldValueDuplicate"),
        ("jobsets", jobset(ttlSecondsAfterFinished=-1), "spec.ttlSecondsAfterFinished", "FieldValueInvalid"),
        ("jobsets", jobset(successPolicy={}), "spec.successPolicy.operator", "FieldValueNotSupported"),
        ("workloadmixings", {"spec": {}}, "spec.slurmRestURL", "FieldValueRequired"),
        ("workloadmixings", {}, "spec", "FieldValueRequired"),
    ],
)
async def test_what_the_schema_refuses(
    api: Api, plural: str, parts: dict[str, Any], field: str, reason: str
) -> None:
    refused = await api.create(plural, "a", **parts)
    assert refused.said == (422, "Invalid")
    assert (field, reason) in refused.causes


async def test_the_texts_are_the_servers(api: Api) -> None:
    wrong = await api.create("localqueues", "a", spec={"clusterQueue": 5})
    assert wrong.message == (
        'LocalQueue.kueue.x-k8s.io "a" is invalid: [spec.clusterQueue: Invalid value: "integer": '
        'spec.clusterQueue in body must be of type string: "integer", <nil>: Invalid value: null: some '
        "validation rules were not checked because the object was invalid; correct the existing errors to "
        "complete validation]"
    )
    assert UNCHECKED in wrong.causes


async def test_unknown_fields_are_dropped_or_refused(api: Api) -> None:
    spec = {"clusterQueue": "cq", "nosuch": {"x": 1}}
    made = await api.create("localqueues", "a", spec=spec)
    assert (made.code, "nosuch" in made.body["spec"]) == (201, False)
    refused = await api.create("localqueues", "b", spec=spec, query={"fieldValidation": "Strict"})
    assert refused.said == (400, "BadRequest")
    assert refused.message == (
        'LocalQueue in version "v1beta2" cannot be handled as a LocalQueue: strict decoding error: '
        'unknown field "spec.nosuch"'
    )
    patched = await api.patch("localqueues", "a", {"spec": {"nosuch": 1}}, fieldValidation="Strict")
    assert (patched.said, patched.causes) == ((422, "Invalid"), {("patch", "FieldValueInvalid")})


async def test_defaults_are_filled_in(api: Api) -> None:
    made = await api.create("localqueues", "a", spec={"clusterQueue": "cq", "stopPolicy": None})
    assert made.body["spec"] == {"clusterQueue": "cq", "stopPolicy": "None"}


async def test_a_status_goes_through_its_own_door(api: Api) -> None:
    made = await api.create("localqueues", "a", status={"pendingWorkloads": 3})
    assert made.body.get("status", {}).get("pendingWorkloads") is None
    patch = {
        "spec": {"stopPolicy": "Hold"},
        "metadata": {"labels": {"x": "1"}},
        "status": {"reservingWorkloads": 7},
    }
    done = await api.patch("localqueues", "a", patch, sub="status")
    assert (done.body["spec"]["stopPolicy"], done.body["status"]["reservingWorkloads"]) == ("None", 7)
    assert (done.meta.get("labels"), done.meta["generation"]) == (None, 1)
    other = await api.patch("localqueues", "a", {"status": {"reservingWorkloads": 9}})
    assert other.body["status"]["reservingWorkloads"] != 9


async def test_a_condition_is_whole_or_refused(api: Api) -> None:
    await api.create("localqueues", "a")
    bare = {"conditions": [{"type": "A", "status": "True"}]}
    refused = await api.patch("localqueues", "a", {"status": bare}, sub="status")
    missing = {
        (f"status.conditions[0].{field}", "FieldValueRequired")
        for field in ("lastTransitionTime", "message", "reason")
    }
    assert refused.said == (422, "Invalid")
    assert missing <= refused.causes


async def test_a_status_patch_does_not_ask_for_the_uid(api: Api) -> None:
    """Only a resourceVersion binds it to what was read."""
    await api.create("localqueues", "a")
    patch = {"metadata": {"uid": OTHER_UID}, "status": {"reservingWorkloads": 5}}
    assert (await api.patch("localqueues", "a", patch, sub="status")).code == 200
    stale = {"metadata": {"resourceVersion": "1"}, "status": {"reservingWorkloads": 6}}
    assert (await api.patch("localqueues", "a", stale, sub="status")).said == (409, "Conflict")


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        (jobset([{"name": "c", "image": 5}]), "cannot unmarshal"),
        (
            jobset([C | {"resources": {"requests": {"cpu": "lots"}}}]),
            "quantities must match the regular expression",
        ),
        (jobset(suspend="yes"), "cannot unmarshal"),
        (jobset(failurePolicy={"maxRestarts": "many"}), "cannot unmarshal"),
    ],
)
async def test_a_new_jobset_is_read_by_its_webhook_first(api: Api, parts: dict[str, Any], why: str) -> None:
    refused = await api.create("jobsets", "a", **parts)
    assert refused.code == 400
    assert refused.message.startswith(
        'admission webhook "mutate-jobset-x-k8s-io-v1alpha2-jobset.x-k8s.io" denied'
    )
    assert why in refused.message


async def test_what_a_new_jobset_lacks_is_empty_by_then(api: Api) -> None:
    made = await api.create("jobsets", "a", **jobset([{"image": "x"}], suspend=True), query={"dryRun": "All"})
    assert made.code == 201
    (job,) = made.body["spec"]["replicatedJobs"]
    assert job["template"]["spec"]["template"]["spec"]["containers"][0]["name"] == ""


async def test_a_jobset_is_patched_under_its_schema(api: Api) -> None:
    await api.create("jobsets", "a", **jobset(suspend=True))
    refused = await api.patch("jobsets", "a", {"spec": {"suspend": "yes"}})
    assert refused.said == (422, "Invalid")
    assert ("spec.suspend", "FieldValueTypeInvalid") in refused.causes
