"""Constraint expressions (-C): which features they name, and whether a node satisfies them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

_WORD = re.compile(r"[&|()\[\]]|[^&|()\[\]\s]+")
_ONE_OF = re.compile(r"\[([^\]]*)\]")
_OPEN = "(["
_CLOSE = ")]"


def names(expression: str) -> frozenset[str]:
    """Every feature that the expression names."""
    return frozenset(_feature(word) for word in _WORD.findall(expression) if word not in "&|()[]")


def matches(expression: str, features: Collection[str]) -> bool:
    """Whether a node with these features satisfies the expression; an empty one is satisfied by all.

    As in Slurm, & and | bind alike, from left to right. Counts ("a*2") are not looked at.
    """
    return _expression(iter(_WORD.findall(expression)), features) if expression else True


def alternatives(expression: str) -> tuple[str, ...]:
    """The expressions of which one must hold for all nodes of a job: `[a|b]` means all a or all b."""
    found = _ONE_OF.search(expression)
    if found is None:
        return (expression,)
    return tuple(
        expression[: found.start()] + one + expression[found.end() :] for one in found.group(1).split("|")
    )


def _expression(words: Iterator[str], features: Collection[str]) -> bool:
    result, operator = True, "&"
    for word in words:
        if word in "&|":
            operator = word
            continue
        if word in _CLOSE:
            break
        value = _expression(words, features) if word in _OPEN else _feature(word) in features
        result = (result and value) if operator == "&" else (result or value)
    return result


def _feature(word: str) -> str:
    return word.partition("*")[0]
