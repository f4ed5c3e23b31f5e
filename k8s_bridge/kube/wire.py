"""Decodes lists and watch lines straight into views; what cannot be decoded is set aside, never fatal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

import msgspec

from api.views import Object
from k8s_bridge.core.errors import Retry
from k8s_bridge.kube.depth import decode
from k8s_bridge.kube.errors import error_of, status_of

T = TypeVar("T", bound=Object)


class Change(StrEnum):
    """What a watch line says. MALFORMED stands for an object that could not be decoded."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    MALFORMED = "MALFORMED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformed:
    """An object that could not be decoded. `key` is "" where not even its name was readable."""

    key: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """One page of a list. `number` 0 begins a listing (again): what came before is void."""

    number: int
    items: tuple[T, ...]
    malformed: tuple[Malformed, ...]
    resource_version: str
    more: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchEvent(Generic[T]):
    """One line of a watch. `object` is None for BOOKMARK, for MALFORMED, and for a malformed DELETED one."""

    change: Change
    key: str
    resource_version: str
    object: T | None = None
    error: str = ""


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    more: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, Generic[T], frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: tuple[T, ...] | None = None


class _RawList(msgspec.Struct, frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: tuple[msgspec.Raw, ...] | None = None


class _Line(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Identity(msgspec.Struct, frozen=True, rename="camel"):
    namespace: str = ""
    name: str = ""
    resource_version: str = ""


class _Stub(msgspec.Struct, frozen=True):
    metadata: _Identity = _Identity()

    @property
    def key(self) -> str:
        meta = self.metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


_LINES = msgspec.json.Decoder(_Line)
_STUBS = msgspec.json.Decoder(_Stub)
_RAW_LISTS = msgspec.json.Decoder(_RawList)


class Codec(Generic[T]):
    """The decoders of one view; building them is costly, so one codec serves all calls."""

    def __init__(self, view: type[T]) -> None:
        self.view = view
        self._items = msgspec.json.Decoder(view)
        self._lists = msgspec.json.Decoder(_List[view])  # type: ignore[valid-type]

    def item(self, body: bytes) -> T:
        """One object. A body that is none is a Retry: the next answer may be whole again."""
        try:
            return decode(self._items, body)
        except msgspec.DecodeError as error:
            raise Retry(f"undecodable {self.view.KIND}: {error}") from error

    def page(self, body: bytes, *, number: int) -> Page[T]:
        """A page of a list; only when an item does not decode is every item decoded on its own."""
        try:
            whole = decode(self._lists, body)
        except msgspec.DecodeError:
            return self._salvage(body, number=number)
        meta = whole.metadata
        return Page(
            number=number,
            items=whole.items or (),
            malformed=(),
            resource_version=meta.resource_version,
            more=meta.more,
        )

    def event(self, line: bytes) -> WatchEvent[T]:
        """One watch line. An ERROR line raises what its Status amounts to; a broken line is a Retry."""
        try:
            envelope = decode(_LINES, line)
        except msgspec.DecodeError as error:
            raise Retry(f"undecodable watch line of {self.view.KIND}: {error}") from error
        if envelope.type == "ERROR":
            body = memoryview(envelope.object)
            raise error_of(f"WATCH {self.view.KIND}", status_of(body).code, body)
        if envelope.type in (Change.ADDED, Change.MODIFIED, Change.DELETED):
            return self._changed(Change(envelope.type), envelope.object)
        stub = _stub(envelope.object)
        change = Change.BOOKMARK if envelope.type == Change.BOOKMARK else Change.MALFORMED
        return WatchEvent(change=change, key=stub.key, resource_version=stub.metadata.resource_version)

    def _changed(self, change: Change, raw: msgspec.Raw) -> WatchEvent[T]:
        try:
            obj = decode(self._items, raw)
        except msgspec.DecodeError as error:
            stub = _stub(raw)
            # a deletion needs no more than the name
            known = change if change is Change.DELETED and stub.key else Change.MALFORMED
            version = stub.metadata.resource_version
            return WatchEvent(change=known, key=stub.key, resource_version=version, error=str(error))
        return WatchEvent(
            change=change, key=obj.key, resource_version=obj.metadata.resource_version, object=obj
        )

    def _salvage(self, body: bytes, *, number: int) -> Page[T]:
        try:
            whole = decode(_RAW_LISTS, body)
        except msgspec.DecodeError as error:
            raise Retry(f"undecodable list of {self.view.KIND}: {error}") from error
        items: list[T] = []
        malformed: list[Malformed] = []
        for raw in whole.items or ():
            try:
                items.append(decode(self._items, raw))
            except msgspec.DecodeError as error:
                malformed.append(Malformed(key=_stub(raw).key, error=str(error)))
        return Page(
            number=number,
            items=tuple(items),
            malformed=tuple(malformed),
            resource_version=whole.metadata.resource_version,
            more=whole.metadata.more,
        )


def _stub(raw: msgspec.Raw) -> _Stub:
    try:
        return decode(_STUBS, raw)
    except msgspec.DecodeError:
        return _Stub()
