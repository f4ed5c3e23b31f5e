"""What is decided must stand when it is looked at again before it is carried out, now that it is known."""

from __future__ import annotations

from k8s_bridge.core.decision import Decision
from k8s_bridge.core.effects import Event
from k8s_bridge.slurm.effects import Effect, SetText

SAID = (Event, SetText)
"""Told once, when a state begins."""


def check_stands(first: Decision[Effect], again: Decision[Effect]) -> None:
    """A decision that undoes itself would never be carried out."""
    undone = [
        effect for effect in first.effects if effect not in again.effects and not isinstance(effect, SAID)
    ]
    assert not undone, f"{first.state} would do {undone}, {again.state} would not"
