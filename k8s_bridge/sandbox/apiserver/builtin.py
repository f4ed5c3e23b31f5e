"""What the API server demands of the built-in kinds that the bridge writes: Leases and Events. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import EVENTS, LEASES, Kind

Cause = tuple[str, str, str]

_MICRO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_CLUSTER_SCOPED = ("default", "kube-system")
"""Where Events about objects without a namespace may be."""


def causes(kind: Kind, obj: Json) -> list[Cause]:
    """Everything that is wrong with an object; nothing for kinds that are not looked at."""
    check = _CHECKS.get(kind)
    return list(check(obj)) if check else []


def _lease(lease: Json) -> Iterator[Cause]:
    spec = lease.get("spec") or {}
    for field, least, text in (
        ("leaseDurationSeconds", 1, "must be greater than 0"),
        ("leaseTransitions", 0, "must be greater than or equal to 0"),
    ):
        value = spec.get(field)
        if value is not None and value < least:
            yield f"spec.{field}", "FieldValueInvalid", f"Invalid value: {value}: {text}"
    for field in ("acquireTime", "renewTime"):
        value = spec.get(field)
        if value is not None and not _MICRO.fullmatch(value):
            # The real server cannot even read it, and blames the whole patch.
            yield "patch", "FieldValueInvalid", f'Invalid value: parsing time "{value}" as a MicroTime'


def _event(event: Json) -> Iterator[Cause]:
    about, own = event.get("involvedObject", {}).get("namespace", ""), event["metadata"]["namespace"]
    if about != own and (about or own not in _CLUSTER_SCOPED):
        text = f'Invalid value: "{about}": does not match event.namespace'
        yield "involvedObject.namespace", "FieldValueInvalid", text


_CHECKS: dict[Kind, Callable[[Json], Iterator[Cause]]] = {LEASES: _lease, EVENTS: _event}
