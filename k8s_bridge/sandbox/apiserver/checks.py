"""What a write is asked before it is stored, and what it answers when it only rehearses. Pure."""

from __future__ import annotations

from k8s_bridge.sandbox.apiserver import metadata
from k8s_bridge.sandbox.apiserver.errors import Json, bad_request, invalid, precondition_failed
from k8s_bridge.sandbox.apiserver.kinds import Kind
from k8s_bridge.sandbox.apiserver.ownership import Owners, sealed
from k8s_bridge.sandbox.apiserver.records import Stored


def check_deletion(kind: Kind, stored: Stored, *, uid: str, resource_version: str) -> None:
    """409 when a precondition of a deletion does not hold; "" is none."""
    have = stored.obj["metadata"]["uid"]
    if uid and uid != have:
        raise precondition_failed(kind, stored.key[1], what="UID", wanted=uid, found=have)
    if resource_version and resource_version != str(stored.rv):
        raise precondition_failed(
            kind, stored.key[1], what="ResourceVersion", wanted=resource_version, found=str(stored.rv)
        )


def same_object(kind: Kind, old: Stored, new: Json, *, subresource: str) -> Json:
    """`new` as the same object: a patch cannot change the uid, and 422 says so.

    With a patch of a custom resource's status the uid is ignored.
    """
    meta, have = new.get("metadata") or {}, old.obj["metadata"]["uid"]
    wanted = meta.get("uid", have)
    if wanted == have:
        return new
    if subresource and kind.custom:
        return new | {"metadata": meta | {"uid": have}}
    text = f'Invalid value: "{wanted}": field is immutable'
    raise invalid(kind, old.key[1], [("metadata.uid", "FieldValueInvalid", text)])


def check_metadata(kind: Kind, meta: Json, old: Json | None) -> None:
    """400 or 422 for labels and annotations that cannot be; those that were there are not looked at."""
    before = old["metadata"] if old else {}
    if all(meta.get(field) == before.get(field) for field in ("labels", "annotations")):
        return
    if field := metadata.wrong_type(meta):
        head = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}'
        raise bad_request(
            f"{head}: json: cannot unmarshal into Go struct field ObjectMeta.{field} of type string"
        )
    if found := metadata.causes(meta):
        raise invalid(kind, meta.get("name", ""), found)


def rehearsed(obj: Json, previous: Stored | None, owners: Owners) -> Stored:
    """What would have been stored: a new object has no version yet, another one keeps its own."""
    stored = Stored(sealed(obj, previous.rv if previous else 0, owners), 0, owners=owners)
    if previous is None:
        del stored.obj["metadata"]["resourceVersion"]
    return stored
