"""What a row of the option table is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from k8s_bridge.slurm.script.values import Values, words


class Takes(Enum):
    """Whether an option has a value."""

    NOTHING = auto()
    VALUE = auto()
    OPTIONAL = auto()
    """Only with `=`, or glued to the short form."""


class Spelled(Enum):
    """Where an option can be given."""

    ANYWHERE = auto()
    COMMAND_LINE = auto()
    """sbatch acts on it before it reads the script, where it means nothing."""
    ENVIRONMENT = auto()
    """There is a variable, but no option."""


class Carried(Enum):
    """Whether a setting stays in force for the next component of a het job."""

    OVER = auto()
    NOT = auto()


NO_EFFECT = "no effect on the capacity; Slurm itself sees to it"


@dataclass(frozen=True, slots=True)
class Option:
    """One option: how it is spelled, which fields it sets, who reads its value, and what became of it."""

    name: str
    short: str = ""
    takes: Takes = Takes.VALUE
    fields: tuple[str, ...] = ()
    read: Callable[[str | None], Values] = words
    effect: str | Callable[..., str] = NO_EFFECT
    """What the values do, for people: a format or a function of them, in the order of the fields."""
    carried: Carried = Carried.OVER
    spelled: Spelled = Spelled.ANYWHERE
    alias: str = ""
    """The option that this is another name of."""

    @property
    def key(self) -> str:
        """The name under which it is remembered who gave it."""
        return self.alias or self.name

    def told(self, values: Values) -> str:
        """The effect of these values."""
        return self.effect.format(*values) if isinstance(self.effect, str) else self.effect(*values)
