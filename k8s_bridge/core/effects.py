"""Effects on Kubernetes, as data. Every one is idempotent; who executes them lives elsewhere.

`ObjectRef.uid`, where set, is a precondition: the effect must not touch another object of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from api.views import Object


class ObjectRef(msgspec.Struct, frozen=True, kw_only=True):
    """A reference to one object. `namespace` is "" for cluster scope; `uid` "" means whichever is there."""

    api_version: str
    kind: str
    plural: str
    namespace: str
    name: str
    uid: str = ""

    @classmethod
    def to(cls, obj: Object) -> ObjectRef:
        """The reference to a viewed object, its uid included."""
        group, version, plural = obj.GVR
        meta = obj.metadata
        return cls(
            api_version=f"{group}/{version}" if group else version,
            kind=obj.KIND,
            plural=plural,
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
        )


class EventType(StrEnum):
    """The two types of a Kubernetes Event."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Apply(msgspec.Struct, frozen=True, kw_only=True):
    """Server-side apply of `manifest` (complete with apiVersion, kind, metadata) with our field manager."""

    ref: ObjectRef
    manifest: Mapping[str, Any]


class Patch(msgspec.Struct, frozen=True, kw_only=True):
    """JSON merge patch. None values delete keys. `subresource` is "" or "status".

    The uid in `ref` does not bind a patch of a custom resource's status: there only `resource_version` does.
    """

    ref: ObjectRef
    patch: Mapping[str, Any]
    subresource: str = ""
    resource_version: str = ""


class Delete(msgspec.Struct, frozen=True, kw_only=True):
    """Delete in the background, with the uid as precondition. Already gone is success."""

    ref: ObjectRef


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A Kubernetes Event about `ref`; repeats are counted by the writer, not created anew."""

    ref: ObjectRef
    type: EventType
    reason: str
    message: str


KubeEffect = Apply | Patch | Delete | Event
