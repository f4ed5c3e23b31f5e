"""Which policies concern a request. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import Kind

_ANY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """What is to be stored: `old` is None when it is new; `namespace` is the Namespace object."""

    kind: Kind
    new: Json
    old: Json | None
    namespace: Json | None

    @property
    def operation(self) -> str:
        """CREATE or UPDATE."""
        return "CREATE" if self.old is None else "UPDATE"


def concerns(constraints: Mapping[str, Any] | None, write: Write) -> bool:
    """Whether match constraints take a write in. None: nothing is excluded."""
    if constraints is None:
        return True
    rules = constraints.get("resourceRules")
    if rules is not None and not any(_names(rule, write) for rule in rules):
        return False
    if any(_names(rule, write) for rule in constraints.get("excludeResourceRules") or ()):
        return False
    return selected(constraints.get("namespaceSelector"), write.namespace) and selected(
        constraints.get("objectSelector"), write.new
    )


def _names(rule: Mapping[str, Any], write: Write) -> bool:
    wanted = (
        ("apiGroups", write.kind.group),
        ("apiVersions", write.kind.version),
        ("operations", write.operation),
        ("resources", write.kind.plural),
    )
    return all(_has(rule.get(field) or (), value) for field, value in wanted)


def _has(values: Iterable[str], value: str) -> bool:
    return any(each in (_ANY, value) for each in values)


def selected(selector: Mapping[str, Any] | None, obj: Json | None) -> bool:
    """Whether a label selector takes an object; an empty one takes all."""
    if not selector or obj is None:
        return True
    labels = obj["metadata"].get("labels") or {}
    equal = all(labels.get(name) == value for name, value in (selector.get("matchLabels") or {}).items())
    return equal and all(_expressed(each, labels) for each in selector.get("matchExpressions") or ())


def _expressed(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels
