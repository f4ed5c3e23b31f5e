"""The parts of a parsed expression. Data only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a text, true, false or null."""

    value: object


@dataclass(frozen=True, slots=True)
class Name:
    """A variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`of.field`, or `of.?field`."""

    of: Node
    field: str
    optional: bool


@dataclass(frozen=True, slots=True)
class Index:
    """`of[key]`, or `of[?key]`."""

    of: Node
    key: Node
    optional: bool


@dataclass(frozen=True, slots=True)
class Call:
    """`name(arguments)`, or `target.name(arguments)`. Operators are calls, too."""

    name: str
    target: Node | None
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A key with its value. `optional`: left out when the value is an empty optional."""

    key: Node
    value: Node
    optional: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """`[item, ?item]`: each item with whether it is optional."""

    items: tuple[tuple[Node, bool], ...]


@dataclass(frozen=True, slots=True)
class Mapped:
    """`{key: value}`."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """`Type{field: value}`; fields are texts."""

    type: str
    entries: tuple[Entry, ...]


Node = Literal | Name | Select | Index | Call | Listed | Mapped | Message
