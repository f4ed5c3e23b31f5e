"""An expression's tokens. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from k8s_bridge.core.cel.errors import CelError


class Sort(StrEnum):
    """What a token is."""

    NAME = "name"
    NUMBER = "number"
    TEXT = "text"
    SIGN = "sign"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """`value` is the name, the sign, or the literal's value."""

    sort: Sort
    value: object
    at: int


_STRING = r"""(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")"""
_RAW = r"""[rR](?:'[^'\n]*'|"[^"\n]*")"""
_TOKEN = re.compile(
    rf"(?P<space>\s+|//[^\n]*)|(?P<raw>{_RAW})|(?P<text>{_STRING})"
    r"|(?P<number>0x[0-9a-fA-F]+u?|\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+u?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>\[\?|\.\?|&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])",
    re.DOTALL,
)


def tokens(text: str) -> Iterator[Token]:
    """All of them, and END. Raises CelError for what is none."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise CelError(f"syntax error at {text[at : at + 12]!r}")
        if token := _token(found, at):
            yield token
        at = found.end()
    yield Token(Sort.END, "", at)


def _token(found: re.Match[str], at: int) -> Token | None:
    match found.lastgroup:
        case "raw":
            return Token(Sort.TEXT, found[0][2:-1], at)
        case "text":
            return Token(Sort.TEXT, ast.literal_eval(found[0]), at)
        case "number":
            return Token(Sort.NUMBER, _number(found[0]), at)
        case "name" | "sign" as group:
            return Token(Sort(group), found[0], at)
        case _:
            return None


def _number(text: str) -> int | float:
    if text.lower().startswith("0x"):
        return int(text.removesuffix("u"), 16)
    return float(text) if re.search(r"[.eE]", text) else int(text.removesuffix("u"))
