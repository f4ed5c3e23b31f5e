"""What an expression in a template may say: nothing that takes long or grows large.

Whoever may edit one WorkloadMixing shares the process with all others: a loop, or a text that doubles itself,
would stop them all. So there are conditions, arithmetic and these filters, and no loops, calls or variables.
"""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Callable, Iterable
from typing import Any

from jinja2 import StrictUndefined, nodes
from jinja2.filters import FILTERS
from jinja2.sandbox import ImmutableSandboxedEnvironment

from k8s_bridge.core import naming

LARGEST = 2**18
"""Characters of what a filter or a template gives: as many bytes as all annotations of a pod may have."""
MOST_PARTS = 1000
"""Names, numbers, operators and filters of one template."""
LARGEST_NUMBER = 2**63

_ALLOWED: tuple[type[nodes.Node], ...] = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.If,
    nodes.Name, nodes.Const, nodes.Tuple, nodes.List, nodes.Getattr, nodes.Getitem, nodes.Slice,
    nodes.Filter, nodes.Keyword, nodes.Test, nodes.CondExpr, nodes.And, nodes.Or, nodes.Not,
    nodes.Compare, nodes.Operand, nodes.Concat, nodes.Neg, nodes.Pos,
    nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod,
)  # fmt: skip
_BUILT_IN = (
    "abs", "capitalize", "count", "d", "default", "first", "float", "int", "last", "length", "lower",
    "string", "title", "trim", "truncate", "upper",
)  # fmt: skip


class Environment(ImmutableSandboxedEnvironment):
    """Jinja2's sandbox with `*` and `%` for numbers alone: of texts they make texts of any length."""

    intercepted_binops = frozenset({"*", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """What the operator gives. TypeError for anything but numbers, ValueError for too large ones."""
        if not (isinstance(left, int | float) and isinstance(right, int | float)):
            raise TypeError(f"{operator} is for numbers only")
        if max(abs(left), abs(right)) > LARGEST_NUMBER:
            raise ValueError("the number is too large")
        return super().call_binop(context, operator, left, right)


def environment() -> Environment:
    """The environment of all templates. Its output is a value in a tree, not a document: no escaping."""
    made = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)
    made.globals.clear()
    own = {
        "join": _join,
        "label": naming.label_value,
        "quote": shlex.quote,
        "replace": _replace,
        "tojson": _tojson,
    }
    made.filters.clear()
    known = {name: FILTERS[name] for name in _BUILT_IN} | own
    made.filters.update({name: _bounded(call) for name, call in known.items()})
    return made


def check(tree: nodes.Template) -> None:
    """ValueError, with what to do instead, for what a template may not say."""
    for count, node in enumerate(tree.find_all(nodes.Node)):
        if not isinstance(node, _ALLOWED):
            raise ValueError(  # noqa: TRY004  # it is of Jinja's right type, and says too much
                f"{type(node).__name__} is not allowed: a template has conditions, arithmetic and "
                "filters, but no loops, calls or variables"
            )
        if count >= MOST_PARTS:
            raise ValueError(f"more than {MOST_PARTS} parts: split it")


def short(size: int) -> None:
    """ValueError for a text of more than LARGEST characters."""
    if size > LARGEST:
        raise ValueError(f"gives more than {LARGEST} characters")


def _bounded(made_by: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(made_by)
    def call(*args: Any, **kwargs: Any) -> Any:
        made = made_by(*args, **kwargs)
        if isinstance(made, str):
            short(len(made))
        return made

    return call


def _join(parts: Iterable[object], between: str = "") -> str:
    texts = [str(part) for part in parts]
    short(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


def _replace(text: object, old: str, new: str) -> str:
    whole = str(text)
    short(len(whole) + whole.count(old) * len(new))
    return whole.replace(old, new)


def _tojson(value: object) -> str:
    return json.dumps(value)
