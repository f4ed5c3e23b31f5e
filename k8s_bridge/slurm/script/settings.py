"""The options in force: who set what last. Script first, then the environment, then the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from k8s_bridge.slurm.model import LONGEST
from k8s_bridge.slurm.script.environment import VARIABLES
from k8s_bridge.slurm.script.errors import ScriptError
from k8s_bridge.slurm.script.getopt import Typed
from k8s_bridge.slurm.script.option import Carried, Option, Spelled, Takes
from k8s_bridge.slurm.script.table import BY_NAME, OPTIONS
from k8s_bridge.slurm.script.values import Values

_SHORT_TEXTS = frozenset(
    (
        *("account", "comment", "constraint", "extra", "job-name", "licenses", "mail-user"),
        *("mcs-label", "network", "partition", "prefer", "qos", "reservation", "wckey"),
    )
)
"""Options whose text slurmctld takes up to LONGEST only."""


class Origin(Enum):
    """Whether an option was typed (in the script or on the command line) or came from a variable."""

    TYPED = auto()
    VARIABLE = auto()


@dataclass(frozen=True, slots=True)
class Given:
    """One option as given. `values` are what was read of it; () when it means nothing where it stands."""

    typed: Typed
    values: Values = ()


class Settings:
    """The fields that options have set, with defaults for the rest."""

    def __init__(self) -> None:
        self._fields: dict[str, object] = {}
        self._origins: dict[str, Origin] = {}
        self._last: dict[str, Given] = {}
        self.given: list[Given] = []

    def number(self, name: str) -> int | None:
        """A field that is a number; None when it is not set."""
        value = self._fields.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def text(self, name: str) -> str:
        """A field that is text; "" when it is not set."""
        value = self._fields.get(name)
        return value if isinstance(value, str) else ""

    def words(self, name: str) -> frozenset[str]:
        """A field that is a set of words."""
        value = self._fields.get(name)
        return value if isinstance(value, frozenset) else frozenset()

    def has(self, name: str) -> bool:
        """Whether a field was set, to whatever value."""
        return name in self._fields

    def typed(self, option: str) -> bool:
        """Whether the option was last given by a person."""
        return self._origins.get(option) is Origin.TYPED

    def from_variable(self, option: str) -> bool:
        """Whether the option was last given by a variable."""
        return self._origins.get(option) is Origin.VARIABLE

    def in_force(self, given: Given) -> bool:
        """Whether no later option or rule has undone this one."""
        option = given.typed.option
        return option is None or self._last.get(option.key) is given

    def put(self, name: str, value: object) -> None:
        """Set a field without an option: a rule that follows from others."""
        self._fields[name] = value

    def reset(self, option: str) -> None:
        """Forget an option and what it set."""
        row = BY_NAME[option]
        for name in row.fields:
            self._fields.pop(name, None)
        self._origins.pop(row.key, None)
        self._last.pop(row.key, None)

    def next_component(self) -> None:
        """Forget what does not count for the next component of a het job."""
        self.given = []
        for option in OPTIONS:
            if option.carried is Carried.NOT:
                self.reset(option.name)

    def apply(self, typed: Typed, origin: Origin) -> None:
        """Take an option over. ScriptError when its value cannot be read."""
        option = typed.option
        if option is None or option.spelled is Spelled.COMMAND_LINE:
            self.given.append(Given(typed))
            return
        _check_length(option, typed)
        try:
            found = option.read(typed.value)
        except ValueError as error:
            raise ScriptError(f"--{option.name}: {error}", where=typed.where) from error
        given = Given(typed, found)
        self.given.append(given)
        self._fields.update(zip(option.fields, found, strict=False))
        self._origins[option.key] = origin
        self._last[option.key] = given

    def apply_environment(self, environment: Mapping[str, str]) -> None:
        """Take the variables over."""
        for variable, name in VARIABLES.items():
            value = environment.get(variable)
            if value is None:
                continue
            option = BY_NAME[name]
            if option.takes is Takes.NOTHING and not _is_yes(value):
                self.reset(name)
                continue
            self.apply(_of_variable(option, variable, value), Origin.VARIABLE)


def _check_length(option: Option, typed: Typed) -> None:
    size = len((typed.value or "").encode(errors="surrogateescape"))
    if option.name in _SHORT_TEXTS and size > LONGEST:
        raise ScriptError(
            f"--{option.name} is longer than the {LONGEST} bytes that slurmctld takes", where=typed.where
        )


def _of_variable(option: Option, variable: str, value: str) -> Typed:
    bare = option.takes is Takes.NOTHING or (option.takes is Takes.OPTIONAL and not value)
    return Typed(option=option, name=option.name, value=None if bare else value, where=variable)


def _is_yes(value: str) -> bool:
    """Of a flag's variable: empty, yes or a number other than 0."""
    if value == "" or value.lower() == "yes":
        return True
    try:
        return int(value) != 0
    except ValueError:
        return False
