"""Templates of operators: a tree parsed from YAML, compiled once per revision, whose leaf strings are Jinja2.

Structure is fixed before any value is known: a value can never become a key, a list item or a template,
whatever a user calls a job. Every rendered leaf is a string. A key whose value is null is left out.
What an expression may say is told in `expressions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Template as JinjaTemplate

from k8s_bridge.core import expressions
from k8s_bridge.core.errors import Terminal

Facts = Mapping[str, Any]
_Render = Callable[[Facts], Any]

_MARKS = ("{{", "{%", "{#")
_ENVIRONMENT = expressions.environment()
DEEPEST = 64
"""Levels of a tree. Those of a pod stay below 20."""
_PATH = 60
"""Characters of the path to what nests too deep."""


class TemplateError(Terminal):
    """A template that cannot be compiled or rendered; the text begins with the path of the leaf."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(f"{path}: {text}", reason="InvalidTemplate")
        self.path = path


class Template:
    """A compiled tree. `render` gives a new tree each time, which the caller may change."""

    def __init__(self, render: _Render) -> None:
        self._render = render

    def render(self, facts: Facts) -> Any:
        """The tree with every leaf rendered. TemplateError for an unknown name or a failing expression."""
        return self._render(facts)


def compile_tree(tree: Any, *, path: str = "") -> Template:
    """Compile `tree`; `path` is what error paths begin with. TemplateError for a syntax error."""
    return Template(_compile(tree, path))


def _compile(tree: Any, path: str, levels: int = DEEPEST) -> _Render:
    if isinstance(tree, str):
        return _leaf(tree, path)
    if levels == 0:
        raise TemplateError(path[:_PATH], f"nests deeper than {DEEPEST} levels")
    if isinstance(tree, Mapping):
        return _mapping(tree, path, levels)
    if isinstance(tree, list | tuple):
        items = [_compile(item, f"{path}[{index}]", levels - 1) for index, item in enumerate(tree)]
        return lambda facts: [item(facts) for item in items]
    return lambda _: tree


def _mapping(tree: Mapping[Any, Any], path: str, levels: int) -> _Render:
    for key in tree:
        if any(mark in str(key) for mark in _MARKS):
            raise TemplateError(f"{path}.{key}".lstrip("."), "keys are not templates, only values are")
    items = [
        (key, _compile(value, f"{path}.{key}".lstrip("."), levels - 1))
        for key, value in tree.items()
        if value is not None
    ]
    return lambda facts: {key: value(facts) for key, value in items}


def _leaf(text: str, path: str) -> _Render:
    if not any(mark in text for mark in _MARKS):
        return lambda _: text
    template = _expression(text, path)

    def render(facts: Facts) -> str:
        try:
            return _rendered(template, facts)
        except Exception as error:  # an expression of an operator can fail in any way
            raise TemplateError(path, str(error)) from error

    return render


def _expression(text: str, path: str) -> JinjaTemplate:
    try:
        tree = _ENVIRONMENT.parse(text)
        expressions.check(tree)
        return _ENVIRONMENT.from_string(tree)
    except Exception as error:  # in Python's own compiler, too: of brackets in brackets
        raise TemplateError(path, str(error)) from error


def _rendered(template: JinjaTemplate, facts: Facts) -> str:
    parts, size = [], 0
    for part in template.generate(facts):
        size += len(part)
        expressions.short(size)
        parts.append(part)
    return "".join(parts)
