"""What the webhook answers: the policies, as the API server would carry them out. Pure.

There is one set of rules: the expressions of `policies`. A policy that has no value is refused, as
failurePolicy Fail has it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from k8s_bridge.core.cel import CelError
from k8s_bridge.core.cel.policy import mutation, objection, scope_in
from k8s_bridge.ray import policies
from k8s_bridge.ray.admission.patching import merged, operations

Json = Mapping[str, Any]
_CHANGING: Sequence[Json] = (policies.ACCEPT, policies.HOLD)
_REFUSING: Sequence[Json] = (policies.CHECK,)
_UNPROCESSABLE = 422


def changed(request: Json, mixings: Iterable[Json]) -> dict[str, Any]:
    """The response to a request for admission that may be changed.

    `mixings` are the WorkloadMixings of its namespace: the parameters of the policies.
    """
    try:
        patch = list(_patch(request, list(mixings)))
    except CelError as error:
        return _refusal(request, f"resulted in error: {error}")
    if not patch:
        return _allowed(request)
    encoded = base64.b64encode(json.dumps(patch).encode()).decode()
    return {**_allowed(request), "patchType": "JSONPatch", "patch": encoded}


def judged(request: Json, mixings: Iterable[Json]) -> dict[str, Any]:
    """The response to a request that is let in as it is, or refused."""
    try:
        for spec in _meant(_REFUSING, request):
            for params in mixings:
                if found := objection(spec, _scope(request, params)):
                    return _refusal(request, found.message)
    except CelError as error:
        return _refusal(request, f"resulted in error: {error}")
    return _allowed(request)


def _patch(request: Json, mixings: Sequence[Json]) -> Iterator[dict[str, Any]]:
    """One WorkloadMixing is enough: what is made of an object does not depend on which it is."""
    for spec in _meant(_CHANGING, request):
        scopes = (scope_in(spec, _scope(request, params)) for params in mixings)
        if met := next((scope for scope in scopes if scope is not None), None):
            yield from _mutated(spec, request, met["params"])


def _mutated(spec: Json, request: Json, params: Json) -> Iterator[dict[str, Any]]:
    """An apply configuration, and then what can be said as operations only."""
    apply, patch = spec["mutations"]
    old = request["object"]
    new = merged(old, mutation(apply, scope_in(spec, _scope(request, params)) or {}))
    yield from operations(old, new)
    yield from mutation(patch, scope_in(spec, _scope({**request, "object": new}, params)) or {})


def _meant(specs: Iterable[Json], request: Json) -> Iterator[Json]:
    asked = request["resource"]
    for spec in specs:
        for rule in spec["matchConstraints"]["resourceRules"]:
            resource = asked["group"] in rule["apiGroups"] and asked["resource"] in rule["resources"]
            if resource and request["operation"] in rule["operations"]:
                yield spec


def _scope(request: Json, params: Json) -> dict[str, Any]:
    return {
        "object": request["object"],
        "oldObject": request.get("oldObject"),
        "request": request,
        "params": params,
    }


def _allowed(request: Json) -> dict[str, Any]:
    return {"uid": request["uid"], "allowed": True}


def _refusal(request: Json, why: str) -> dict[str, Any]:
    status = {"code": _UNPROCESSABLE, "reason": "Invalid", "message": why}
    return {"uid": request["uid"], "allowed": False, "status": status}
