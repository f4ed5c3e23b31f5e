"""Strict YAML: one document of JSON's types, no repeated keys, and the line of everything.

Reads plain words as YAML 1.2 does: `no` and `on` are texts, `1:30` is not a number, dates are texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isinf
from typing import Any

import yaml

from api.problems import InvalidWorkloadMixing, Path, Problem, spell

_MAX_TEXT = 1 << 20
_MAX_NODES = 100_000
_MAX_DEPTH = 100
_MAX_DIGITS = 100


class _Loader(yaml.SafeLoader):
    """A loader whose plain scalars follow the YAML 1.2 core schema."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  # PyYAML's own way


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile("^$"), [""])


_CONSTRUCT: Mapping[str, Callable[[str], Any]] = {
    "str": str,
    "null": lambda _: None,
    "bool": lambda value: value.lower() == "true",
    "int": int,
    "float": float,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A parsed text: `data` in JSON's types, `lines` from paths to line numbers (counted from 1)."""

    data: Any
    lines: dict[Path, int]

    def line(self, path: Path) -> int:
        """The line of `path`, or of the nearest thing around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)


def parse_yaml(text: str) -> Document:
    """The one document in `text`. InvalidWorkloadMixing for bad syntax, repeated keys, foreign tags."""
    if len(text) > _MAX_TEXT:
        raise _refused(f"has {len(text)} characters", "keep it below one mebibyte")
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise _refused(f"is not YAML: {what}", "correct the syntax", mark.line + 1 if mark else 0) from None
    except RecursionError:
        raise _refused("is nested beyond reason", "write it flatter") from None
    except yaml.YAMLError as error:
        raise _refused(f"is not YAML: {error}", "correct the syntax") from None
    if root is None:
        raise _refused("is empty", "write a WorkloadMixing, or its spec")
    reader = _Reader()
    data = reader.read(root, ())
    if reader.problems:
        raise InvalidWorkloadMixing(tuple(reader.problems))
    return Document(data=data, lines=reader.lines)


def _refused(why: str, fix: str, line: int = 0) -> InvalidWorkloadMixing:
    return InvalidWorkloadMixing((Problem(path=spell(()), why=why, fix=fix, line=line),))


class _Reader:
    """Turns nodes into data, noting lines and problems on the way."""

    def __init__(self) -> None:
        self.lines: dict[Path, int] = {}
        self.problems: list[Problem] = []

    def read(self, node: yaml.Node, path: Path) -> Any:
        """The data of `node`, which stands at `path`."""
        if len(self.lines) >= _MAX_NODES or len(path) > _MAX_DEPTH:
            raise _refused("is nested or repeated beyond reason", "write it without aliases to itself")
        self.lines.setdefault(path, node.start_mark.line + 1)
        match node:
            case yaml.MappingNode():
                return self._mapping(node, path)
            case yaml.SequenceNode():
                return [self.read(entry, (*path, index)) for index, entry in enumerate(node.value)]
            case _:
                return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self._complain(path, "has a key that is not a word", "write plain keys", line)
                continue
            key = str(key_node.value)
            at = (*path, key)
            if key in data:
                self._complain(
                    at, f"appears twice, first in line {self.lines[at]}", "keep one of the two", line
                )
                continue
            self.lines[at] = line
            data[key] = self.read(value_node, at)
        return data

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        value, tag = str(node.value), node.tag.removeprefix("tag:yaml.org,2002:")
        line = node.start_mark.line + 1
        if tag not in _CONSTRUCT:
            self._complain(path, f"has the tag {tag}", "remove the tag", line)
        elif tag in ("int", "float") and (len(value) > _MAX_DIGITS or isinf(float(value))):
            self._complain(path, "is far too large", "write a smaller number", line)
        else:
            return _CONSTRUCT[tag](value)
        return None

    def _complain(self, path: Path, why: str, fix: str, line: int) -> None:
        self.problems.append(Problem(path=spell(path), why=why, fix=fix, line=line))
