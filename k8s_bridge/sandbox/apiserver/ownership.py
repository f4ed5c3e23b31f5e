"""Who owns which field (metadata.managedFields), and how a plain write moves ownership. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.fieldsets import Fields, compare, ownable, to_fields_v1


class Operation(StrEnum):
    """How a manager writes."""

    APPLY = "Apply"
    UPDATE = "Update"


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who writes, through which version and subresource ("" or "status"), and when (metav1.Time).

    `writes_status`: the kind has no status subresource, or takes a status when an object is created.
    """

    manager: str
    api_version: str
    subresource: str
    time: str
    writes_status: bool


class Owner:
    """One entry of managedFields. Never changed; its JSON is made once and shared by later versions."""

    __slots__ = ("_entry", "_tree", "fields", "operation", "writer")

    def __init__(self, writer: Writer, operation: Operation, fields: Fields) -> None:
        self.writer = writer
        self.operation = operation
        self.fields, self._tree = _shared(fields)
        self._entry: Json | None = None

    def is_of(self, writer: Writer, operation: Operation) -> bool:
        """Whether this is the entry that such a write changes."""
        mine = self.writer
        return (
            self.operation is operation
            and mine.manager == writer.manager
            and mine.subresource == writer.subresource
        )

    def without(self, fields: Fields) -> Owner:
        """The entry less some fields."""
        if self.fields.isdisjoint(fields):
            return self
        return Owner(self.writer, self.operation, self.fields - fields)

    @property
    def entry(self) -> Json:
        """The managedFields entry."""
        if self._entry is None:
            writer = self.writer
            self._entry = {
                "manager": writer.manager,
                "operation": str(self.operation),
                "apiVersion": writer.api_version,
                "time": writer.time,
                "fieldsType": "FieldsV1",
                "fieldsV1": self._tree,
            } | ({"subresource": writer.subresource} if writer.subresource else {})
        return self._entry


Owners = tuple[Owner, ...]


@lru_cache(maxsize=2048)
def _shared(fields: Fields) -> tuple[Fields, Json]:
    """The set and its fieldsV1: thousands of pods made from one template share one of each."""
    return fields, to_fields_v1(fields)


def after_update(owners: Owners, old: Json | None, new: Json, writer: Writer) -> Owners:
    """The owners once `writer` has put `new` in place of `old` without apply: it takes what it changed."""
    difference = compare(_reachable(old, writer) if old else {}, _reachable(new, writer))
    if not difference.changed and not difference.removed:
        return owners
    changed, lost = frozenset(difference.changed), frozenset(difference.changed | difference.removed)
    mine = next((owner for owner in owners if owner.is_of(writer, Operation.UPDATE)), None)
    taken = changed | ((mine.fields - difference.removed) if mine else frozenset())
    others = [owner.without(lost) for owner in owners if owner is not mine]
    return _kept([*others, Owner(writer, Operation.UPDATE, taken)])


def _reachable(obj: Json, writer: Writer) -> Json:
    """What the write could touch: the status only through its subresource, where the kind has one."""
    parts = ownable(obj)
    if writer.subresource == "status":
        return {"status": parts["status"]} if "status" in parts else {}
    if not writer.writes_status:
        parts.pop("status", None)
    return parts


def after_apply(owners: Owners, fields: Fields, writer: Writer, *, taken: Fields) -> Owners:
    """The owners once `writer` has applied `fields`, taking `taken` away from all others."""
    mine = next((owner for owner in owners if owner.is_of(writer, Operation.APPLY)), None)
    others = [owner.without(taken) for owner in owners if owner is not mine]
    if (
        mine
        and mine.fields == fields
        and all(a is b for a, b in zip(others, _but(owners, mine), strict=True))
    ):
        return owners
    return _kept([Owner(writer, Operation.APPLY, fields), *others])


def _but(owners: Owners, left_out: Owner) -> Sequence[Owner]:
    return [owner for owner in owners if owner is not left_out]


def _kept(owners: Sequence[Owner]) -> Owners:
    return tuple(owner for owner in owners if owner.fields)


def sealed(obj: Json, rv: int, owners: Owners) -> Json:
    """The object as it is stored: under its resourceVersion, with managedFields as `owners` says."""
    meta = obj["metadata"] | {"resourceVersion": str(rv)}
    if owners:
        meta["managedFields"] = [owner.entry for owner in owners]
    else:
        meta.pop("managedFields", None)
    return obj | {"metadata": meta}
