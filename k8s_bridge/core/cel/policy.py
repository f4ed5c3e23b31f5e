"""What an admission policy says about one request: conditions, variables, mutations, validations. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from k8s_bridge.core.cel.errors import CelError
from k8s_bridge.core.cel.evaluate import evaluate
from k8s_bridge.core.cel.parser import parse

Spec = Mapping[str, Any]
Scope = dict[str, Any]


class Variables(Mapping[str, Any]):
    """A policy's own variables, each evaluated when it is first asked for."""

    def __init__(self, entries: Sequence[Mapping[str, str]], scope: Scope) -> None:
        self._expressions = {entry["name"]: entry["expression"] for entry in entries}
        self._scope = scope
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = evaluate(parse(self._expressions[name]), self._scope)
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._expressions

    def __iter__(self) -> Iterator[str]:
        return iter(self._expressions)

    def __len__(self) -> int:
        return len(self._expressions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """A validation that does not hold. `reason` is the API server's word for it."""

    message: str
    reason: str


def scope_in(spec: Spec, scope: Mapping[str, Any]) -> Scope | None:
    """`scope` with the policy's variables; None when a condition excludes the request. Raises CelError."""
    whole = dict(scope)
    whole["variables"] = Variables(spec.get("variables") or (), whole)
    met = all(evaluate(parse(one["expression"]), whole) for one in spec.get("matchConditions") or ())
    return whole if met else None


def objection(spec: Spec, scope: Mapping[str, Any]) -> Objection | None:
    """The first validation that does not hold, if the request is meant at all. Raises CelError."""
    whole = scope_in(spec, scope)
    for validation in () if whole is None else spec.get("validations") or ():
        if not evaluate(parse(validation["expression"]), whole or {}):
            reason = validation.get("reason", "Invalid")
            return Objection(message=_message(validation, whole or {}), reason=reason)
    return None


def mutation(spec: Mapping[str, Any], scope: Mapping[str, Any]) -> Any:
    """The value of a mutation: an apply configuration, or the operations of a JSON patch. Raises CelError."""
    field = "applyConfiguration" if spec["patchType"] == "ApplyConfiguration" else "jsonPatch"
    return evaluate(parse(spec[field]["expression"]), scope)


def _message(validation: Mapping[str, Any], scope: Scope) -> str:
    if expression := validation.get("messageExpression"):
        try:
            if isinstance(said := evaluate(parse(expression), scope), str) and said.strip():
                return said
        except CelError:
            pass
    return str(validation.get("message") or f"failed expression: {validation['expression'].strip()}")
