from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from k8s_bridge.sandbox.apiserver import kinds
from k8s_bridge.sandbox.apiserver.custom import serve_custom_resources
from k8s_bridge.sandbox.apiserver.errors import ApiError
from k8s_bridge.sandbox.apiserver.patches import PatchType
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.controllers.kueue.admission_hooks import suspend_new
from k8s_bridge.sandbox.policies.engine import serve_policies

MANIFEST = Path(__file__).parents[1] / "fixtures/kube/manifests/inner-rayjob-policy.yaml"
QUEUE = "kueue.x-k8s.io/queue-name"
GATE = "ray-bridge.x-k8s.io/capacity"


@pytest.fixture
def storage() -> Storage:
    found = Storage()
    serve_custom_resources(found)
    serve_policies(found)
    found.admit(kinds.RAYJOBS, suspend_new)
    return found


def rayjob(name: str = "inner", **spec: Any) -> dict[str, Any]:
    whole = {"clusterSelector": {"ray.io/cluster": "shared"}, "entrypoint": "true"} | spec
    return {"metadata": {"name": name, "namespace": "default", "labels": {QUEUE: "lq"}}, "spec": whole}


def submitter(labels: dict[str, str], **spec: Any) -> dict[str, Any]:
    pod = {"containers": [{"name": "c", "image": "i"}]} | spec
    return {
        "metadata": {"name": "inner", "namespace": "default", "labels": labels},
        "spec": {"template": {"spec": pod}},
    }


def bind(storage: Storage, kind: str, name: str, spec: dict[str, Any], **binding: Any) -> None:
    policies = {k.kind: k for k in kinds.ALL}
    storage.create(policies[kind], {"metadata": {"name": name}, "spec": spec})
    bound = {"policyName": name, "validationActions": ["Deny"], **binding}
    storage.create(policies[f"{kind}Binding"], {"metadata": {"name": name}, "spec": bound})


def rules(*operations: str) -> dict[str, Any]:
    rule = {"apiGroups": ["ray.io"], "apiVersions": ["v1"], "resources": ["rayjobs"]}
    return {"resourceRules": [rule | {"operations": list(operations)}]}


def test_what_kueue_suspends_is_let_go_again_and_its_label_taken(storage):
    for document in yaml.safe_load_all(MANIFEST.read_text()):
        storage.create(kinds.BY_KIND[document["apiVersion"], document["kind"]], document)

    made = storage.create(kinds.RAYJOBS, rayjob())
    standalone = storage.create(
        kinds.RAYJOBS, rayjob("alone", clusterSelector={}, rayClusterSpec={"headGroupSpec": {"template": {}}})
    )

    assert (made["spec"]["suspend"], made["metadata"]["labels"]) == (False, {})
    assert (standalone["spec"]["suspend"], standalone["metadata"]["labels"]) == (True, {QUEUE: "lq"})


def test_submitters_are_gated_and_keep_the_gates_they_had(storage):
    for document in yaml.safe_load_all(MANIFEST.read_text()):
        storage.create(kinds.BY_KIND[document["apiVersion"], document["kind"]], document)

    other = {"name": "example.com/other"}
    held = storage.create(
        kinds.JOBS, submitter({"ray.io/originated-from-crd": "RayJob"}, schedulingGates=[other])
    )
    storage.delete(kinds.JOBS, "default", "inner")
    free = storage.create(kinds.JOBS, submitter({}))

    assert held["spec"]["template"]["spec"]["schedulingGates"] == [other, {"name": GATE}]
    assert "schedulingGates" not in free["spec"]["template"]["spec"]


def frozen(storage: Storage, **binding: Any) -> None:
    rule = {
        "expression": "oldObject == null || object.spec.?entrypoint == oldObject.spec.?entrypoint",
        "messageExpression": "'entrypoint of ' + object.metadata.name + ' is frozen'",
    }
    named = {"expression": "!object.metadata.name.startsWith('bad')", "reason": "Forbidden", "message": "no"}
    spec = {"matchConstraints": rules("CREATE", "UPDATE"), "validations": [rule, named]}
    bind(storage, "ValidatingAdmissionPolicy", "frozen", spec, **binding)


def test_a_rule_that_does_not_hold_refuses_with_its_message_and_code(storage):
    frozen(storage)
    storage.create(kinds.RAYJOBS, rayjob())

    with pytest.raises(
        ApiError, match="'frozen' with binding 'frozen' denied request: entrypoint of inner"
    ) as e:
        storage.patch(kinds.RAYJOBS, "default", "inner", {"spec": {"entrypoint": "false"}})
    assert (e.value.code, e.value.reason) == (422, "Invalid")
    with pytest.raises(ApiError, match="denied request: no") as e:
        storage.create(kinds.RAYJOBS, rayjob("bad"))
    assert (e.value.code, e.value.reason) == (403, "Forbidden")


def test_writes_of_a_status_and_other_kinds_pass_by(storage):
    frozen(storage)
    storage.create(kinds.RAYJOBS, rayjob())

    status = {"status": {"jobDeploymentStatus": "Retrying"}}
    written = storage.patch(kinds.RAYJOBS, "default", "inner", status, subresource="status")
    storage.create(kinds.CONFIGMAPS, {"metadata": {"name": "bad", "namespace": "default"}})

    assert written["status"]["jobDeploymentStatus"] == "Retrying"


def test_bindings_choose_namespaces_by_label(storage):
    frozen(storage, matchResources={"namespaceSelector": {"matchLabels": {"managed": "true"}}})
    storage.create(kinds.RAYJOBS, rayjob("bad-1"))

    storage.patch(kinds.NAMESPACES, "", "default", {"metadata": {"labels": {"managed": "true"}}})

    with pytest.raises(ApiError, match="denied"):
        storage.create(kinds.RAYJOBS, rayjob("bad-2"))


def test_each_parameter_is_asked_and_none_is_no_refusal_where_allowed(storage):
    spec = {
        "matchConstraints": rules("CREATE"),
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{"expression": "object.metadata.name != params.data.forbidden"}],
    }
    ref = {"selector": {"matchLabels": {"rule": "yes"}}, "parameterNotFoundAction": "Allow"}
    bind(storage, "ValidatingAdmissionPolicy", "by-params", spec, paramRef=ref)
    storage.create(kinds.RAYJOBS, rayjob("a"))

    for name, labels in (("one", {"rule": "yes"}), ("two", {"rule": "yes"}), ("three", {})):
        meta = {"name": name, "namespace": "default", "labels": labels}
        storage.create(kinds.CONFIGMAPS, {"metadata": meta, "data": {"forbidden": name}})

    storage.create(kinds.RAYJOBS, rayjob("three"))
    for name in ("one", "two"):
        with pytest.raises(ApiError, match="failed expression"):
            storage.create(kinds.RAYJOBS, rayjob(name))


@pytest.mark.parametrize(("failure_policy", "taken"), [("Fail", False), ("Ignore", True)])
def test_an_expression_without_a_value_fails_as_the_policy_says(storage, failure_policy, taken):
    spec = {
        "failurePolicy": failure_policy,
        "matchConstraints": rules("CREATE"),
        "validations": [{"expression": "object.spec.nothing == 1"}],
    }
    bind(storage, "ValidatingAdmissionPolicy", "broken", spec)

    if taken:
        storage.create(kinds.RAYJOBS, rayjob())
    else:
        with pytest.raises(ApiError, match="no such key: nothing"):
            storage.create(kinds.RAYJOBS, rayjob())


def test_mutations_of_one_policy_see_each_other(storage):
    patches = [
        """[JSONPatch{op: "add", path: "/metadata/annotations", value: {"a": "1"}}]""",
        """[JSONPatch{op: "add", path: "/metadata/annotations/b", value: object.metadata.annotations.a}]""",
    ]
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": text}} for text in patches]
    spec = {"matchConstraints": rules("CREATE"), "mutations": mutations, "reinvocationPolicy": "Never"}
    bind(storage, "MutatingAdmissionPolicy", "two", spec)

    assert storage.create(kinds.RAYJOBS, rayjob())["metadata"]["annotations"] == {"a": "1", "b": "1"}


def test_an_update_is_not_mutated_by_a_policy_for_new_objects(storage):
    change = """[JSONPatch{op: "replace", path: "/spec/entrypoint", value: "false"}]"""
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": change}}]
    bind(
        storage,
        "MutatingAdmissionPolicy",
        "once",
        {"matchConstraints": rules("CREATE"), "mutations": mutations, "reinvocationPolicy": "Never"},
    )
    storage.create(kinds.RAYJOBS, rayjob())

    patch = [{"op": "replace", "path": "/spec/entrypoint", "value": "mine"}]
    written = storage.patch(kinds.RAYJOBS, "default", "inner", patch, patch_type=PatchType.JSON)

    assert written["spec"]["entrypoint"] == "mine"
