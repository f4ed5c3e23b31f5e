"""Cut a large JSON answer into the items of one array while it comes in.

An answer of 150 MB never lies in memory: each item leaves as its own bytes, and what surrounds the array (the
frame) stays small. The search runs in the regular expression engine, not in a loop over characters; whether
an item is valid JSON inside its brackets is for its decoder to say.
"""

from __future__ import annotations

import re

DEPTH = 32
"""How deep an item may nest. Slurm's own stay below 12."""

_SPACE = rb"[ \t\r\n]*+"
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def _nested(depth: int) -> bytes:
    """An object or array with balanced brackets, strings skipped. Possessive throughout, so it is linear."""
    inner = rb'(?:[^"{}\[\]]++|' + _STRING + rb")*+"
    for _ in range(depth - 1):
        inner = rb'(?:[^"{}\[\]]++|' + _STRING + rb"|[{\[]" + inner + rb"[}\]])*+"
    return rb"[{\[]" + inner + rb"[}\]]"


_VALUE = rb"(?:" + _nested(DEPTH) + rb"|" + _STRING + rb"|[^\s,\[\]{}\"]++(?=[\s,}\]]))"
_OPEN = re.compile(_SPACE + rb"\{" + _SPACE)
_KEY = re.compile(_SPACE + rb"(" + _STRING + rb")" + _SPACE + rb":" + _SPACE + rb"(?=\S)", re.DOTALL)
_MEMBER = re.compile(_VALUE, re.DOTALL)
_ITEM = re.compile(_SPACE + rb"(" + _VALUE + rb")" + _SPACE + rb"(,|(?=\]))", re.DOTALL)
_NEXT = re.compile(_SPACE + rb"([,}])")
_END = re.compile(_SPACE + rb"\]")
_REST = re.compile(_SPACE)


class Malformed(Exception):
    """The body is not a JSON object, or one item is above the cap."""


class Splitter:
    """Feed it chunks: it gives back complete items of the top-level array `key`; `frame` is the rest.

    `cap` bounds one item, and the frame, in bytes. A body without the array has no items.
    """

    def __init__(self, key: str, *, cap: int) -> None:
        self._key = b'"' + key.encode() + b'"'
        self._cap = cap
        self._buffer = bytearray()
        self._at = 0
        self._wanted = 0
        self._members: list[bytes] = []
        self._size = 0
        self._items: list[bytes] = []
        # A function, not a bound method: what refers to itself stays until the garbage collector comes by.
        self._step = Splitter._begin
        self._found = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The items that are complete with this chunk. Malformed when it cannot be such an answer."""
        self._buffer += chunk
        # An item that spans many chunks is searched again only when what is held of it has doubled.
        if len(self._buffer) < self._wanted:
            return []
        self._items = []
        while self._step(self):
            pass
        del self._buffer[: self._at]
        self._at = 0
        held = len(self._buffer)
        if held > self._cap or self._size > self._cap:
            raise Malformed(f"more than {self._cap} bytes in one piece")
        self._wanted = 0 if self._items else 2 * held
        return self._items

    def finish(self) -> tuple[list[bytes], bytes]:
        """The last items and the frame, an object without the array. Malformed when the body broke off."""
        self._wanted = 0
        items = self.feed(b"")
        if self._step is not Splitter._tail or self._buffer.strip():
            raise Malformed("the body is not one JSON object")
        return items, b"{" + b",".join(self._members) + b"}"

    @property
    def found(self) -> bool:
        """Whether the array was there at all."""
        return self._found

    def _begin(self) -> bool:
        match = _OPEN.match(self._buffer, self._at)
        if match is None:
            if bytes(self._buffer.lstrip()[:1]) not in (b"", b"{"):
                raise Malformed("the body is not a JSON object")
            return False
        self._at = match.end()
        self._step = Splitter._member
        return True

    def _member(self) -> bool:
        if not self._members and not self._found and self._buffer[self._at : self._at + 1] == b"}":
            self._at, self._step = self._at + 1, Splitter._tail
            return True
        key = _KEY.match(self._buffer, self._at)
        if key is None:
            return False
        if key.group(1) == self._key and self._buffer[key.end() : key.end() + 1] == b"[":
            self._at, self._step, self._found = key.end() + 1, Splitter._item, True
            return True
        value = _MEMBER.match(self._buffer, key.end())
        if value is None:
            return False
        self._members.append(bytes(self._buffer[self._at : value.end()]))
        self._size += value.end() - self._at
        self._at, self._step = value.end(), Splitter._separator
        return True

    def _item(self) -> bool:
        match = _ITEM.match(self._buffer, self._at)
        if match is not None:
            self._items.append(match.group(1))
            self._at = match.end()
            return True
        end = _END.match(self._buffer, self._at)
        if end is None:
            return False
        self._at, self._step = end.end(), Splitter._separator
        return True

    def _separator(self) -> bool:
        match = _NEXT.match(self._buffer, self._at)
        if match is None:
            return False
        self._at = match.end()
        self._step = Splitter._member if match.group(1) == b"," else Splitter._tail
        return True

    def _tail(self) -> bool:
        return False
