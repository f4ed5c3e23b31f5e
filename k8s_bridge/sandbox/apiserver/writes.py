"""What the API server does to an object on its way into storage. Pure: stamp and uid are arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass

from k8s_bridge.sandbox.apiserver.errors import ApiError, Json, bad_request, conflict, invalid, uid_conflict
from k8s_bridge.sandbox.apiserver.kinds import NAMESPACES, PODS, Kind

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
# Set by the server alone: whatever a writer says of them is replaced by what is stored.
_SYSTEM = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generateName",
    "namespace",
    "managedFields",
)
_TOP = ("metadata", "status")


@dataclass(frozen=True, slots=True, kw_only=True)
class Birth:
    """What the server gives a new object. `suffix` completes a generateName."""

    uid: str
    created: str
    suffix: str


def generated_name(prefix: str, suffix: str) -> str:
    """The name a generateName becomes: 63 characters at most."""
    return prefix[:58] + suffix


def prepared_for_create(kind: Kind, obj: Json, birth: Birth) -> Json:
    """The object as it is first stored (without resourceVersion). 400 or 422 if it cannot be."""
    meta = dict(obj.get("metadata") or {})
    if meta.get("resourceVersion"):
        raise bad_request("resourceVersion should not be set on objects to be created")
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = generated_name(meta["generateName"], birth.suffix)
    for key in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields"):
        meta.pop(key, None)
    meta |= {"uid": birth.uid, "creationTimestamp": birth.created}
    if kind.generation:
        meta["generation"] = 1
    _check_name(kind, meta)
    born = {"apiVersion": kind.api_version, "kind": kind.kind} | obj | {"metadata": meta}
    if kind.has_status and not kind.status_on_create:
        born.pop("status", None)
    return _with_builtin_defaults(kind, born)


def _check_name(kind: Kind, meta: Json) -> None:
    name = meta.get("name")
    if not name:
        raise invalid(
            kind,
            "",
            [("metadata.name", "FieldValueRequired", "Required value: name or generateName is required")],
        )
    if len(name) > 253 or not _NAME.fullmatch(name):  # noqa: PLR2004 - RFC 1123
        raise invalid(
            kind, name, [("metadata.name", "FieldValueInvalid", f'Invalid value: "{name}": {_NAME_TEXT}')]
        )
    if kind.namespaced and not meta.get("namespace"):
        raise bad_request("an empty namespace may not be set during creation")
    if not kind.namespaced:
        meta.pop("namespace", None)


def _with_builtin_defaults(kind: Kind, obj: Json) -> Json:
    if kind is NAMESPACES:
        meta = obj["metadata"]
        labels = (meta.get("labels") or {}) | {"kubernetes.io/metadata.name": meta["name"]}
        return obj | {"metadata": meta | {"labels": labels}, "status": {"phase": "Active"}}
    if kind is not PODS:
        return obj
    spec = {"restartPolicy": "Always", "terminationGracePeriodSeconds": 30} | (obj.get("spec") or {})
    return obj | {"spec": spec, "status": {"phase": "Pending"}}


def prepared_for_update(kind: Kind, old: Json, new: Json, *, subresource: str) -> Json:
    """What is stored if `new` is written over `old`: what the writer may not change comes from `old`."""
    name = old["metadata"]["name"]
    _check_preconditions(kind, old, new)
    if subresource == "status":
        return _replaced(old, "status", new.get("status"))
    if subresource:
        raise ApiError(404, "NotFound", "the server could not find the requested resource")
    meta = dict(new.get("metadata") or {})
    _check_finalizers(kind, old, meta)
    for key in _SYSTEM:
        _carry(meta, old["metadata"], key)
    meta["name"] = name
    merged = new | {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}
    if kind.has_status:
        merged = _replaced(merged, "status", old.get("status"))
    if kind.generation and _spec(merged) != _spec(old):
        meta["generation"] = old["metadata"].get("generation", 0) + 1
    return merged


def _spec(obj: Json) -> Json:
    return {key: value for key, value in obj.items() if key not in _TOP}


def _carry(meta: Json, old: Json, key: str) -> None:
    if key in old:
        meta[key] = old[key]
    else:
        meta.pop(key, None)


def _replaced(obj: Json, key: str, value: object) -> Json:
    rest = {name: content for name, content in obj.items() if name != key}
    return rest if value is None else rest | {key: value}


def _check_preconditions(kind: Kind, old: Json, new: Json) -> None:
    meta, have = new.get("metadata") or {}, old["metadata"]
    name = have["name"]
    if meta.get("name", name) != name:
        raise bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({name})"
        )
    if meta.get("uid") and meta["uid"] != have["uid"]:
        raise uid_conflict(kind, name, wanted=meta["uid"], found=have["uid"])
    if meta.get("resourceVersion") and meta["resourceVersion"] != have["resourceVersion"]:
        raise conflict(kind, name)


def _check_finalizers(kind: Kind, old: Json, meta: Json) -> None:
    if "deletionTimestamp" not in old["metadata"]:
        return
    added = [f for f in meta.get("finalizers") or () if f not in (old["metadata"].get("finalizers") or ())]
    if added:
        quoted = ", ".join(f'"{name}"' for name in added)
        text = (
            "Forbidden: no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{quoted}}}"
        )
        raise invalid(kind, old["metadata"]["name"], [("metadata.finalizers", "FieldValueForbidden", text)])
