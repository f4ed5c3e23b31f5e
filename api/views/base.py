"""What all views have in common."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec


class View(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """Base of all views: immutable, camelCase on the wire."""


class OwnerReference(View, frozen=True):
    """metadata.ownerReferences[]."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(View, frozen=True):
    """metadata, without managedFields."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class Condition(View, frozen=True):
    """A condition as metav1 defines it; `status` is "True", "False" or "Unknown"."""

    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int = 0


class Object(View, frozen=True):
    """What every stored object has. `GVR` = (group, version, plural); group "" is core."""

    GVR: ClassVar[tuple[str, str, str]]
    KIND: ClassVar[str]
    NAMESPACED: ClassVar[bool] = True

    metadata: ObjectMeta

    @property
    def key(self) -> str:
        """`namespace/name`, or `name` of a cluster-scoped object."""
        meta = self.metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
