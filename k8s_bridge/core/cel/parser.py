"""From an expression's text to its tree. Pure."""

from __future__ import annotations

import functools

from k8s_bridge.core.cel.errors import CelError
from k8s_bridge.core.cel.tokens import Sort, Token, tokens
from k8s_bridge.core.cel.tree import (
    Call,
    Entry,
    Index,
    Listed,
    Literal,
    Mapped,
    Message,
    Name,
    Node,
    Select,
)

_CONSTANTS = {"true": True, "false": False, "null": None}
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("<", "<=", ">", ">=", "==", "!=", "in"),
    ("+", "-"),
    ("*", "/", "%"),
)
"""Binary operators, those that bind least first."""


@functools.lru_cache(maxsize=512)
def parse(text: str) -> Node:
    """The tree of an expression. Raises CelError."""
    parser = _Parser(list(tokens(text)))
    node = parser.expression()
    parser.need_end()
    return node


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0

    def need_end(self) -> None:
        if self._now.sort is not Sort.END:
            raise self._unexpected()

    def expression(self) -> Node:
        condition = self._binary(0)
        if not self._take("?"):
            return condition
        yes = self._binary(0)
        self._need(":")
        return Call("?:", None, (condition, yes, self.expression()))

    @property
    def _now(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        token = self._now
        self._at += 1
        return token

    def _is(self, *values: str) -> bool:
        return self._now.sort in (Sort.SIGN, Sort.NAME) and self._now.value in values

    def _take(self, value: str) -> bool:
        if self._is(value):
            self._at += 1
            return True
        return False

    def _need(self, value: str) -> None:
        if not self._take(value):
            raise self._unexpected(f"expected {value!r}, ")

    def _unexpected(self, what: str = "") -> CelError:
        return CelError(f"syntax error: {what}found {self._now.value!r} at {self._now.at}")

    def _binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._is(*_LEVELS[level]):
            operator = str(self._next().value)
            left = Call(operator, None, (left, self._binary(level + 1)))
        return left

    def _unary(self) -> Node:
        for sign, name in (("!", "!"), ("-", "negative")):
            if self._take(sign):
                return Call(name, None, (self._unary(),))
        return self._member()

    def _member(self) -> Node:
        node = self._primary()
        while self._is(".", ".?", "[", "[?", "{"):
            if self._is("{") and not _is_type(node):
                break
            sign = str(self._next().value)
            if sign == "{":
                node = Message(_type_name(node), self._entries(fields=True))
            elif sign.startswith("["):
                node = Index(node, self.expression(), sign == "[?")
                self._need("]")
            else:
                node = self._selected(node, optional=sign == ".?")
        return node

    def _selected(self, node: Node, *, optional: bool) -> Node:
        name = self._name()
        if not optional and self._take("("):
            return Call(name, node, self._arguments())
        return Select(node, name, optional)

    def _name(self) -> str:
        if self._now.sort is not Sort.NAME:
            raise self._unexpected()
        return str(self._next().value)

    def _primary(self) -> Node:
        token = self._next()
        match token.sort, token.value:
            case ((Sort.NUMBER | Sort.TEXT), value):
                return Literal(value)
            case Sort.SIGN, "(":
                node = self.expression()
                self._need(")")
                return node
            case Sort.SIGN, "[":
                return Listed(self._items())
            case Sort.SIGN, "{":
                return Mapped(self._entries(fields=False))
            case Sort.NAME, str(name):
                return self._named(name)
        self._at -= 1
        raise self._unexpected()

    def _named(self, name: str) -> Node:
        if name in _CONSTANTS:
            return Literal(_CONSTANTS[name])
        return Call(name, None, self._arguments()) if self._take("(") else Name(name)

    def _arguments(self) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self._take(")"):
            found.append(self.expression())
            if not self._is(")"):
                self._need(",")
        return tuple(found)

    def _items(self) -> tuple[tuple[Node, bool], ...]:
        found: list[tuple[Node, bool]] = []
        while not self._take("]"):
            optional = self._take("?")
            found.append((self.expression(), optional))
            if not self._is("]"):
                self._need(",")
        return tuple(found)

    def _entries(self, *, fields: bool) -> tuple[Entry, ...]:
        found: list[Entry] = []
        while not self._take("}"):
            optional = self._take("?")
            key = Literal(self._name()) if fields else self.expression()
            self._need(":")
            found.append(Entry(key, self.expression(), optional))
            if not self._is("}"):
                self._need(",")
        return tuple(found)


def _is_type(node: Node) -> bool:
    while isinstance(node, Select):
        node = node.of
    return isinstance(node, Name) and node.name in ("Object", "JSONPatch")


def _type_name(node: Node) -> str:
    return (
        f"{_type_name(node.of)}.{node.field}" if isinstance(node, Select) else str(getattr(node, "name", ""))
    )
