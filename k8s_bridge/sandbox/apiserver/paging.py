"""Lists in pages: every page shows the state of the first one, until the token expires (410)."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from k8s_bridge.sandbox.apiserver.errors import ApiError, bad_request
from k8s_bridge.sandbox.apiserver.records import Key, Stored

_KEPT = 64  # snapshots; the oldest expires when one more is taken
_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
    "that were created, modified, or deleted between the time the first chunk was returned and now may show "
    "up in the list."
)


class Token(msgspec.Struct, frozen=True):
    """A continue token. `snapshot` 0 goes on with the present state."""

    rv: int
    snapshot: int
    start: Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a list at `rv`; `token` is "" on the last; `remaining` counts what follows."""

    rows: Sequence[Stored]
    rv: int
    token: str
    remaining: int


class Pager:
    """The snapshots that continue tokens refer to."""

    def __init__(self) -> None:
        self._snapshots: OrderedDict[int, Sequence[Stored]] = OrderedDict()
        self._last = 0

    def expire(self) -> None:
        """Let every token given out so far be too old."""
        self._snapshots.clear()

    def first(self, rows: Sequence[Stored], *, rv: int, limit: int) -> Page:
        """The first page of the present state."""
        if not limit or len(rows) <= limit:
            return Page(rows=rows, rv=rv, token="", remaining=0)
        self._last += 1
        self._snapshots[self._last] = rows
        while len(self._snapshots) > _KEPT:
            self._snapshots.popitem(last=False)
        return _page(rows, 0, limit, Token(rv, self._last, ("", "")))

    def following(self, text: str, present: Callable[[], Sequence[Stored]], *, rv: int, limit: int) -> Page:
        """The page a token asks for. 400 if it is none, 410 if its snapshot is gone."""
        token = _decoded(text)
        rows = self._snapshots.get(token.snapshot) if token.snapshot else present()
        if rows is None:
            raise _too_old(token, rv)
        if not token.snapshot:
            token = Token(rv, 0, token.start)
        begin = bisect_left(rows, token.start, key=_key)
        return _page(rows, begin, limit or len(rows), token)


def _key(row: Stored) -> Key:
    return row.key


def _page(rows: Sequence[Stored], begin: int, limit: int, token: Token) -> Page:
    end = begin + limit
    following = _encoded(Token(token.rv, token.snapshot, rows[end].key)) if end < len(rows) else ""
    return Page(rows=rows[begin:end], rv=token.rv, token=following, remaining=max(len(rows) - end, 0))


def _encoded(token: Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _decoded(text: str) -> Token:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text + "=="), type=Token)
    except (binascii.Error, msgspec.DecodeError, UnicodeDecodeError):
        raise bad_request("continue key is not valid: encoding is not valid") from None


def _too_old(token: Token, rv: int) -> ApiError:
    onwards = _encoded(Token(rv, 0, token.start))
    return ApiError(410, "Expired", _EXPIRED, metadata={"continue": onwards})
