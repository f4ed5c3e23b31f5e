"""Admission policies: what they change, what they refuse in which words, and what they see."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
from conformance.apiserver.api import Answer, Api

_GROUP = "/apis/admissionregistration.k8s.io"
_VERSIONS = {"Mutating": "v1beta1", "Validating": "v1"}
_RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["configmaps"],
}
_WITHIN = 30.0
_CANARY = "canary-in-force"


@contextlib.asynccontextmanager
async def policy(api: Api, sort: str, spec: dict[str, Any], **binding: Any) -> AsyncIterator[str]:
    """A policy for ConfigMaps of the test's namespace, in force within the block; its name."""
    version, name = _VERSIONS[sort], f"{api.namespace}-{sort.lower()}"
    kind, plural = f"{sort}AdmissionPolicy", f"{sort.lower()}admissionpolic"
    here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}}}
    documents = {
        f"{_GROUP}/{version}/{plural}ies": (kind, {"matchConstraints": {"resourceRules": [_RULE]}} | spec),
        f"{_GROUP}/{version}/{plural}ybindings": (
            f"{kind}Binding",
            {"policyName": name, "matchResources": here}
            | ({"validationActions": ["Deny"]} if sort == "Validating" else {})
            | binding,
        ),
    }
    for path, (each, body) in documents.items():
        meta = {"apiVersion": f"{_GROUP[6:]}/{version}", "kind": each, "metadata": {"name": name}}
        made = await api.call("POST", path, meta | {"spec": body})
        assert made.code == 201, made.body
    try:
        yield name
    finally:
        for path in documents:
            await api.call("DELETE", f"{path}/{name}")


async def eventually(attempt: Any, holds: Any) -> Answer:
    """The first answer that shows the policy in force: a real server takes a moment to see it."""
    async with asyncio.timeout(_WITHIN):
        while True:
            if holds(answer := await attempt()):
                return answer
            await asyncio.sleep(0.1)


async def denied(api: Api, name: str, **parts: Any) -> Answer:
    async def attempt() -> Answer:
        answer = await api.create("configmaps", name, **parts)
        if answer.code == 201:
            await api.delete("configmaps", name)
        return answer

    return await eventually(attempt, lambda answer: answer.code != 201)


@pytest.mark.parametrize(
    ("more", "code", "reason", "said"),
    [
        ({"message": "no x"}, 422, "Invalid", "no x"),
        ({"message": "no x", "reason": "Forbidden"}, 403, "Forbidden", "no x"),
        ({"messageExpression": "'not ' + object.data.x"}, 422, "Invalid", "not 1"),
        ({}, 422, "Invalid", "failed expression: !has(object.data.x)"),
    ],
)
async def test_a_rule_that_does_not_hold_is_told(api: Api, more, code, reason, said) -> None:
    spec = {"validations": [{"expression": "!has(object.data.x)"} | more]}
    async with policy(api, "Validating", spec) as name:
        refused = await denied(api, "a", data={"x": "1"})

    assert refused.said == (code, reason)
    told = f"ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: {said}"
    assert refused.message == f'configmaps "a" is forbidden: {told}'


@pytest.mark.parametrize(
    ("expression", "data"),
    [
        ("object.data.size() < 2 || object.data.all(k, k.startsWith('a'))", {"a": "1", "b": "1"}),
        ("object.?data[?'x'].orValue('') == ''", {"x": "1"}),
        ("!object.data.exists(k, object.data[k].matches('^[0-9]+$') && int(object.data[k]) > 5)", {"n": "6"}),
        ("request.operation != 'CREATE' || object.metadata.name in ['b', 'c']", {"x": "1"}),
        ("quantity(object.data.q).isLessThan(quantity('1Gi'))", {"q": "2Gi"}),
        ("variables.joined == 'x'", {"z": "1"}),
        ("oldObject != null", {"x": "1"}),
        ("namespaceObject.metadata.name != request.namespace", {"x": "1"}),
    ],
)
async def test_what_expressions_see(api: Api, expression, data) -> None:
    variables = [{"name": "joined", "expression": "object.data.map(k, k).join(',')"}]
    spec = {"validations": [{"expression": expression}], "variables": variables}
    async with policy(api, "Validating", spec):
        refused = await denied(api, "a", data=data)

    assert "failed expression" in refused.message


async def test_an_update_is_compared_with_what_was(api: Api) -> None:
    rule = {
        "expression": "oldObject == null || object.data.?x == oldObject.data.?x",
        "message": "x is frozen",
    }
    await api.create("configmaps", "a", data={"x": "1"})
    values = map(str, itertools.count(2))
    async with policy(api, "Validating", {"validations": [rule]}):
        refused = await eventually(
            lambda: api.patch("configmaps", "a", {"data": {"x": next(values)}}),
            lambda answer: answer.code != 200,
        )
        other = await api.patch("configmaps", "a", {"data": {"y": "2"}})

    assert (refused.said, other.code) == ((422, "Invalid"), 200)


async def test_conditions_leave_objects_out(api: Api) -> None:
    spec = {
        "matchConditions": [{"name": "only-x", "expression": "has(object.data.x)"}],
        "validations": [{"expression": "false", "message": "never"}],
    }
    async with policy(api, "Validating", spec):
        await denied(api, "a", data={"x": "1"})
        free = await api.create("configmaps", "b", data={"y": "1"})

    assert free.code == 201


@pytest.mark.parametrize("failure_policy", ["Fail", "Ignore"])
async def test_an_expression_without_a_value(api: Api, failure_policy) -> None:
    broken = {"expression": "object.data.nothing == 'x'"}
    last = {"expression": f"object.metadata.name != '{_CANARY}'"}
    spec = {"failurePolicy": failure_policy, "validations": [last, broken]}
    async with policy(api, "Validating", spec):
        await denied(api, _CANARY, data={"nothing": "x"})
        answer = await api.create("configmaps", "a", data={"x": "1"})

    if failure_policy == "Ignore":
        assert answer.code == 201
    else:
        assert answer.said == (422, "Invalid")
        assert "resulted in error: no such key: nothing" in answer.message


async def test_each_parameter_is_asked(api: Api) -> None:
    spec = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{"expression": "object.metadata.name != params.data.no"}],
    }
    for name in ("one", "two"):
        await api.create("configmaps", f"p-{name}", data={"no": name}, meta={"labels": {"rule": "yes"}})
    ref = {"selector": {"matchLabels": {"rule": "yes"}}, "parameterNotFoundAction": "Allow"}
    async with policy(api, "Validating", spec, paramRef=ref):
        for name in ("one", "two"):
            await denied(api, name)
        free = await api.create("configmaps", "three")

    assert free.code == 201


def patches(*expressions: str) -> list[dict[str, Any]]:
    return [{"patchType": "JSONPatch", "jsonPatch": {"expression": text}} for text in expressions]


def applies(expression: str) -> list[dict[str, Any]]:
    return [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]


@pytest.mark.parametrize(
    ("mutations", "wanted"),
    [
        (applies("Object{data: {'b': '2'}}"), {"a": "1", "b": "2"}),
        (applies("Object{data: {'a': object.data.a + '0'}}"), {"a": "10"}),
        (
            patches(
                """[JSONPatch{op: "remove", path: "/data/a"},
                    JSONPatch{op: "add", path: "/data/c", value: "3"}]"""
            ),
            {"c": "3"},
        ),
        (
            patches("""has(object.data.b) ? [] : [JSONPatch{op: "add", path: "/data/b", value: "x"}]"""),
            {"a": "1", "b": "x"},
        ),
        (
            patches(
                """[JSONPatch{op: "add", path: "/data/b", value: "2"}]""",
                """[JSONPatch{op: "add", path: "/data/c", value: object.data.b}]""",
            ),
            {"a": "1", "b": "2", "c": "2"},
        ),
    ],
)
async def test_what_mutations_make(api: Api, mutations, wanted) -> None:
    spec = {"mutations": mutations, "reinvocationPolicy": "Never"}
    async with policy(api, "Mutating", spec):

        async def attempt() -> Answer:
            await api.delete("configmaps", "a")
            return await api.create("configmaps", "a", data={"a": "1"})

        made = await eventually(attempt, lambda answer: answer.body.get("data") != {"a": "1"})

    assert made.body["data"] == wanted


async def test_keys_of_paths_are_escaped(api: Api) -> None:
    text = """[JSONPatch{op: "remove", path: "/metadata/labels/" + jsonpatch.escapeKey("a.io/b~c")}]"""
    spec = {
        "mutations": patches(text.replace("b~c", "b")),
        "reinvocationPolicy": "Never",
        "matchConditions": [{"name": "has", "expression": "'a.io/b' in object.metadata.?labels.orValue({})"}],
    }
    async with policy(api, "Mutating", spec):

        async def attempt() -> Answer:
            await api.delete("configmaps", "a")
            return await api.create("configmaps", "a", meta={"labels": {"a.io/b": "1", "c": "2"}})

        made = await eventually(attempt, lambda answer: "a.io/b" not in answer.meta.get("labels", {}))

    assert made.meta["labels"] == {"c": "2"}


async def test_a_namespace_carries_its_name(api: Api) -> None:
    found = await api.call("GET", f"/api/v1/namespaces/{api.namespace}")

    assert found.meta["labels"] == {"kubernetes.io/metadata.name": api.namespace}
