"""Objects that nest without end: read without what no decoder would follow, so that one spoils no list.

Anything can stand in a field that its CustomResourceDefinition leaves open, ten thousand brackets too.
"""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

T = TypeVar("T")

DEEPEST = 200
"""Levels that are read. No object that a bridge makes anything of has as many."""
_SIGN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{]|[\]}]', re.DOTALL)


def decode(decoder: msgspec.json.Decoder[T], body: bytes | msgspec.Raw) -> T:
    """What `body` says, with null in place of what nests deeper than DEEPEST. msgspec.DecodeError as ever."""
    try:
        return decoder.decode(body)
    except RecursionError:
        return decoder.decode(cut(bytes(body)))


def cut(body: bytes) -> bytes:
    """The JSON text with null in place of each object or array that is more than DEEPEST levels deep."""
    kept: list[bytes] = []
    level, begin = 0, 0
    for sign in _SIGN.finditer(body):
        match body[sign.start() : sign.start() + 1]:
            case b"[" | b"{":
                level += 1
                if level == DEEPEST + 1:
                    kept += (body[begin : sign.start()], b"null")
            case b"]" | b"}":
                if level == DEEPEST + 1:
                    begin = sign.end()
                level -= 1
    return b"".join((*kept, body[begin:]))
