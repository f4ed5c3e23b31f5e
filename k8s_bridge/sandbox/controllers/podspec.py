"""What a pod asks for, read off its spec. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from k8s_bridge.sandbox.controllers.quantity import Amounts, amounts


def requests(spec: Mapping[str, Any]) -> Amounts:
    """The effective request of a pod: its containers, or its largest init container, plus overhead."""
    total: Amounts = Counter()
    for container in spec.get("containers", ()):
        total.update(_container(container))
    for init in spec.get("initContainers", ()):
        total |= _container(init)
    total.update(amounts(spec.get("overhead") or {}))
    return total


def _container(container: Mapping[str, Any]) -> Amounts:
    resources = container.get("resources") or {}
    return amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def tolerates(spec: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Whether the pod tolerates `taint` (for however long)."""
    return any(_matches(toleration, taint) for toleration in spec.get("tolerations") or ())


def toleration_seconds(spec: Mapping[str, Any], taint: Mapping[str, Any], *, default: float) -> float | None:
    """How long the pod may stay under a NoExecute taint; None: for ever. `default`: nothing said."""
    found = [t for t in spec.get("tolerations") or () if _matches(t, taint)]
    if not found:
        return default
    limits = [float(t["tolerationSeconds"]) for t in found if "tolerationSeconds" in t]
    return min(limits) if limits else None


def _matches(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")
