"""The admission policies that hold inner RayJobs before Ray hears of them. Pure.

They read the WorkloadMixings of a job's namespace as parameters: a change there is in force at once, and
where there is none they do nothing. No certificate is needed for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from k8s_bridge.ray import cel, names

GROUP = "admissionregistration.k8s.io"
_PARAMS = {"apiVersion": "k8s-bridge.x-k8s.io/v1alpha1", "kind": "WorkloadMixing"}
_RAY_JOBS = {"apiGroups": ["ray.io"], "apiVersions": ["v1"], "resources": ["rayjobs"]}
_JOBS = {"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"]}
_SUBMITTERS = {"matchLabels": {"ray.io/originated-from-crd": "RayJob"}}

Json = Mapping[str, Any]


def _conditions(found: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "expression": text} for name, text in found.items()]


def _apply(expression: str) -> dict[str, Any]:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def _patch(expression: str) -> dict[str, Any]:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


ACCEPT: Json = {
    "failurePolicy": "Fail",
    "reinvocationPolicy": "IfNeeded",
    "matchConstraints": {"resourceRules": [{**_RAY_JOBS, "operations": ["CREATE"]}]},
    "matchConditions": _conditions(cel.CREATED),
    "variables": _conditions(cel.ACCEPTING),
    "mutations": [_apply(cel.ACCEPTED), _patch(cel.TAKEN)],
}
"""What is made of a job: Kueue's suspension undone, its queue remembered, K8sJobMode."""
HOLD: Json = {
    "failurePolicy": "Fail",
    "reinvocationPolicy": "Never",
    "matchConstraints": {
        "objectSelector": _SUBMITTERS,
        "resourceRules": [{**_JOBS, "operations": ["CREATE"]}],
    },
    "matchConditions": _conditions(cel.SUBMITTER),
    "variables": _conditions(cel.HOLDING),
    "mutations": [_apply(cel.HELD), _patch(cel.WRAPPED)],
}
"""What is made of a submitter: gated, and told its options when the gate goes."""
CHECK: Json = {
    "failurePolicy": "Fail",
    "matchConstraints": {"resourceRules": [{**_RAY_JOBS, "operations": ["CREATE", "UPDATE"]}]},
    "matchConditions": _conditions(cel.WRITTEN),
    "variables": _conditions(cel.CHECKING),
    "validations": [
        {"expression": rule.holds, "messageExpression": rule.message, "reason": "Invalid"}
        for rule in cel.RULES
    ],
}
"""What is refused."""


def policies(*, prefix: str, mutating: str, validating: str = "v1") -> Iterator[dict[str, Any]]:
    """All objects, their names beginning with `prefix`.

    `mutating` is the version of MutatingAdmissionPolicy that the cluster serves: v1 from Kubernetes 1.36 on,
    v1beta1 before.
    """
    for name, kind, version, spec in (
        ("accept", "MutatingAdmissionPolicy", mutating, ACCEPT),
        ("hold", "MutatingAdmissionPolicy", mutating, HOLD),
        ("check", "ValidatingAdmissionPolicy", validating, CHECK),
    ):
        yield from _pair(f"{prefix}-{name}", kind=kind, version=version, spec=spec)


def _pair(name: str, *, kind: str, version: str, spec: Json) -> Iterator[dict[str, Any]]:
    head = {"apiVersion": f"{GROUP}/{version}", "metadata": {"name": name}}
    yield {**head, "kind": kind, "spec": {"paramKind": _PARAMS, **spec}}
    binding: dict[str, Any] = {
        "policyName": name,
        "paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"},
        "matchResources": {"namespaceSelector": {"matchLabels": {names.MANAGED_NAMESPACE: "true"}}},
    }
    if kind == "ValidatingAdmissionPolicy":
        binding["validationActions"] = ["Deny"]
    yield {**head, "kind": f"{kind}Binding", "spec": binding}
