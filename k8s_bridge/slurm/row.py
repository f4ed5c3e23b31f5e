"""One row of a state machine's table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from k8s_bridge.core.decision import Decision
from k8s_bridge.slurm.effects import Effect
from k8s_bridge.slurm.facts import Facts
from k8s_bridge.slurm.unit import State

F = TypeVar("F", bound=Facts)


@dataclass(frozen=True, slots=True)
class Row(Generic[F]):
    """In `state` when `holds`; `move` says what to do, given the facts and the time."""

    state: State
    holds: Callable[[F], bool]
    move: Callable[[F, float], Decision[Effect]]


Table = tuple[Row[Any], ...]
"""Rows are tried in order, the first that holds wins, and the last always holds."""
