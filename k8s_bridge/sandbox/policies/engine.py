"""Carries out the policies that are stored, on each write.

The mutating ones come before the webhooks, and again after them where they say IfNeeded; the validating ones
see what is left of it. A write of a status alone is no write of the object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from k8s_bridge.core.cel import CelError
from k8s_bridge.core.cel.policy import mutation as value_of
from k8s_bridge.core.cel.policy import objection, scope_in
from k8s_bridge.sandbox.apiserver.errors import ApiError, Json
from k8s_bridge.sandbox.apiserver.kinds import (
    ALL,
    BY_KIND,
    MUTATING_BINDINGS,
    MUTATING_POLICIES,
    NAMESPACES,
    VALIDATING_BINDINGS,
    VALIDATING_POLICIES,
    Kind,
)
from k8s_bridge.sandbox.apiserver.patches import PatchType, patched
from k8s_bridge.sandbox.apiserver.records import copy
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.policies.matching import Write, concerns, selected
from k8s_bridge.sandbox.policies.scope import scope_of

_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}
_PATCHES = {"ApplyConfiguration": PatchType.STRATEGIC, "JSONPatch": PatchType.JSON}
_AGAIN = "IfNeeded"
Bound = tuple[Json, Json, Json | None]
"""A policy, one of its bindings, and one of the parameters that this names, None where there are none."""


def serve_policies(storage: Storage) -> None:
    """Have every write pass the policies that are there at its time."""
    engine = Policies(storage)
    for kind in ALL:
        if kind.group != MUTATING_POLICIES.group:
            storage.admit(kind, engine.first(kind))
            storage.admit_last(kind, engine.last(kind))


class Policies:
    """Reads the policies from the storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def first(self, kind: Kind) -> Any:
        """The hook that comes before the webhooks."""
        return lambda new, old: self._mutated(kind, new, old, again=False)

    def last(self, kind: Kind) -> Any:
        """The hook that comes after them."""

        def hook(new: Json, old: Json | None) -> Json:
            new = self._mutated(kind, new, old, again=True)
            self._validate(kind, new, old)
            return new

        return hook

    def _mutated(self, kind: Kind, new: Json, old: Json | None, *, again: bool) -> Json:
        if not self._storage.rows(MUTATING_BINDINGS) or _is_status_write(new, old):
            return new
        write = self._write(kind, new, old)
        for bound in self._bound(MUTATING_BINDINGS, MUTATING_POLICIES, write):
            if not again or bound[0]["spec"].get("reinvocationPolicy") == _AGAIN:
                write = replace(write, new=_mutate(bound, write))
        return write.new

    def _write(self, kind: Kind, new: Json, old: Json | None) -> Write:
        name = new["metadata"].get("namespace", "")
        namespace = self._storage.find(NAMESPACES, "", name) if name else None
        return Write(kind=kind, new=new, old=old, namespace=namespace)

    def _bound(self, bindings: Kind, policies: Kind, write: Write) -> Iterator[Bound]:
        for binding in self._storage.list(bindings):
            policy = self._storage.find(policies, "", binding["spec"].get("policyName", ""))
            if policy is None or not concerns(policy["spec"].get("matchConstraints"), write):
                continue
            if concerns(binding["spec"].get("matchResources"), write):
                yield from ((policy, binding, params) for params in self._params(policy, binding, write))

    def _params(self, policy: Json, binding: Json, write: Write) -> Sequence[Json | None]:
        kind, ref = policy["spec"].get("paramKind"), binding["spec"].get("paramRef")
        if not kind or not ref:
            return [None]
        own = write.new["metadata"].get("namespace", "")
        served = BY_KIND[kind["apiVersion"], kind["kind"]]
        namespace = ref.get("namespace", own) if served.namespaced else ""
        found = self._storage.list(served, namespace=namespace)
        if "name" in ref:
            found = [each for each in found if each["metadata"]["name"] == ref["name"]]
        else:
            found = [each for each in found if selected(ref.get("selector"), each)]
        if not found and ref.get("parameterNotFoundAction") == "Deny":
            raise _denied(
                (policy, binding, None), write, "no params found for policy binding", reason="Invalid"
            )
        return found

    def _validate(self, kind: Kind, new: Json, old: Json | None) -> None:
        if not self._storage.rows(VALIDATING_BINDINGS) or _is_status_write(new, old):
            return
        write = self._write(kind, new, old)
        for bound in self._bound(VALIDATING_BINDINGS, VALIDATING_POLICIES, write):
            if "Deny" in bound[1]["spec"].get("validationActions", ()):
                _judge(bound, write)


def _scope(bound: Bound, write: Write) -> dict[str, Any] | None:
    policy, _, params = bound
    return scope_in(policy["spec"], scope_of(write, params=params))


def _mutate(bound: Bound, write: Write) -> Json:
    obj = write.new
    try:
        for mutation in bound[0]["spec"]["mutations"] if _scope(bound, write) is not None else ():
            # Each sees what those before it have made.
            scope = _scope(bound, replace(write, new=obj)) or {}
            obj = patched(copy(obj), value_of(mutation, scope), _PATCHES[mutation["patchType"]])
    except CelError as error:
        _fail(bound, write, error)
        return write.new
    return obj


def _judge(bound: Bound, write: Write) -> None:
    policy, _, params = bound
    try:
        found = objection(policy["spec"], scope_of(write, params=params))
    except CelError as error:
        _fail(bound, write, error)
        return
    if found:
        raise _denied(bound, write, found.message, reason=found.reason)


def _fail(bound: Bound, write: Write, error: CelError) -> None:
    if bound[0]["spec"].get("failurePolicy", "Fail") == "Fail":
        raise _denied(bound, write, f"resulted in error: {error}", reason="Invalid") from error


def _denied(bound: Bound, write: Write, why: str, *, reason: str) -> ApiError:
    policy, binding, _ = bound
    names = policy["metadata"]["name"], binding["metadata"]["name"]
    text = f"{policy['kind']} '{names[0]}' with binding '{names[1]}' denied request: {why}"
    head = f'{write.kind.resource} "{write.new["metadata"]["name"]}" is forbidden: '
    return ApiError(_CODES.get(reason, 422), reason, head + text, details={"causes": [{"message": text}]})


def _is_status_write(new: Json, old: Json | None) -> bool:
    if old is None:
        return False
    return all(new.get(name) == old.get(name) for name in new.keys() | old.keys() if name != "status")
