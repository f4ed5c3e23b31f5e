"""Which lists are keyed, which are sets, and which values are atomic: what server-side apply has to know.

Taken from the OpenAPI of the served kinds by field name; a list that is not named here is atomic.
"""

from __future__ import annotations

from typing import Any

import msgspec

_KEYS: dict[str, tuple[str, ...]] = {
    "admissionChecks": ("name",),
    "addresses": ("type",),
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "podSetAssignments": ("name",),
    "podSets": ("name",),
    "ports": ("containerPort", "protocol"),
    "replicatedJobs": ("name",),
    "replicatedJobsStatus": ("name",),
    "schedulingGates": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
    "webhooks": ("name",),
}
_DEFAULTS = {"protocol": "TCP"}
_SETS = frozenset({"finalizers"})
_ATOMIC_MAPS = frozenset(
    {
        "nodeSelector",
        "selector",
        "labelSelector",
        "fieldRef",
        "resourceFieldRef",
        "secretKeyRef",
        "configMapKeyRef",
    }
)


def is_atomic_map(field: str) -> bool:
    """Whether a mapping under `field` is owned as one value."""
    return field in _ATOMIC_MAPS


def element_key(field: str, element: Any) -> str | None:
    """The path element of a list item, as fieldsV1 writes it; None if the list under `field` is atomic."""
    if field in _SETS and isinstance(element, str):
        return "v:" + msgspec.json.encode(element).decode()
    names = _KEYS.get(field)
    if names is None or not isinstance(element, dict):
        return None
    key = {name: element.get(name, _DEFAULTS.get(name)) for name in names}
    if None in key.values():
        return None
    return "k:" + msgspec.json.encode(key).decode()
