"""What became of each option: for people who want to know why their job has the pods that it has."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from k8s_bridge.slurm.layout.types import Layout, Refusal
from k8s_bridge.slurm.script.option import NO_EFFECT
from k8s_bridge.slurm.script.settings import Given
from k8s_bridge.slurm.script.submission import Component

_OVERRIDDEN = "overridden: a later option, a variable or the command line counts"
_FOREIGN = (
    "unknown to sbatch itself: refused at submission unless a plugin of the site or a newer Slurm has it"
)
_SAME_IN_A_RECORD = {
    "bbf": ("bb",),
    "gpus-per-node": ("gres",),
    "tres-per-task": ("gpus-per-task", "cpus-per-task"),
    "ntasks-per-tres": ("ntasks-per-gpu",),
}


class Fate(StrEnum):
    """What an option did."""

    COUNTS = "counts"
    IGNORED = "ignored"
    """Slurm sees to it, or something else counts."""
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """One option: where it was given, how it reads, what it did."""

    where: str
    option: str
    fate: Fate
    text: str


def effects(component: Component, planned: Layout | Refusal) -> tuple[Effect, ...]:
    """Of every option that was given, in the order in which they were read; a refusal is never left out."""
    refusal = planned if isinstance(planned, Refusal) else None
    found = tuple(_effects(component, refusal))
    if refusal is None or any(effect.fate is Fate.REFUSED for effect in found):
        return found
    return (*found, Effect(where="", option=refusal.option, fate=Fate.REFUSED, text=refusal.text))


def _effects(component: Component, refusal: Refusal | None) -> Iterator[Effect]:
    for given, in_force in component.given:
        fate, text = _fate(given, refusal) if in_force else (Fate.IGNORED, _OVERRIDDEN)
        yield Effect(where=given.typed.where, option=given.typed.text, fate=fate, text=text)


def _fate(given: Given, refusal: Refusal | None) -> tuple[Fate, str]:
    option = given.typed.option
    if option is None:
        return Fate.UNKNOWN, _FOREIGN
    if refusal is not None and _is_about(given, refusal):
        return Fate.REFUSED, refusal.text
    text = option.told(given.values)
    return (Fate.IGNORED if text == NO_EFFECT else Fate.COUNTS), text


def _is_about(given: Given, refusal: Refusal) -> bool:
    """A refusal names the plain option; others can have set the same thing."""
    option = given.typed.option
    name = refusal.option.removeprefix("--").partition("=")[0]
    assert option is not None
    names = (option.key, *_SAME_IN_A_RECORD.get(option.key, ()))
    return name in names or name.replace("-", "_") in option.fields
