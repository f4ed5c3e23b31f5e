"""Words into options, as getopt_long does it for sbatch.

`-n4`, `-n 4`, `-HOn4`, `--ntasks=4`, `--ntasks 4` and any unambiguous beginning of a long name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from k8s_bridge.slurm.script.errors import ScriptError
from k8s_bridge.slurm.script.lines import Word
from k8s_bridge.slurm.script.option import Option, Takes
from k8s_bridge.slurm.script.table import LONG, SHORT


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """An option as it was found. `option` is None for one that is not sbatch's own."""

    option: Option | None
    name: str
    value: str | None
    where: str

    @property
    def text(self) -> str:
        """The option in its plainest spelling, such as --mem=4G."""
        return f"--{self.name}" if self.value is None else f"--{self.name}={self.value}"


def parse(words: Sequence[Word]) -> tuple[tuple[Typed, ...], tuple[Word, ...]]:
    """The options, and the words from the first one on that is no option."""
    reader = _Reader(words)
    found: list[Typed] = []
    while reader.at_option():
        found.extend(reader.read())
    return tuple(found), reader.rest()


class _Reader:
    def __init__(self, words: Sequence[Word]) -> None:
        self._words = words
        self._place = 0

    def at_option(self) -> bool:
        """Whether the next word is an option; `--` ends them and is passed over."""
        if self._place >= len(self._words):
            return False
        text = self._words[self._place].text
        if text == "--":
            self._place += 1
            return False
        return text.startswith("-") and text != "-"

    def rest(self) -> tuple[Word, ...]:
        """The words that were not read."""
        return tuple(self._words[self._place :])

    def read(self) -> tuple[Typed, ...]:
        """The options in the next word, and the word after it when it is a value."""
        word = self._words[self._place]
        self._place += 1
        return (self._long(word),) if word.text.startswith("--") else self._cluster(word)

    def _long(self, word: Word) -> Typed:
        name, equals, given = word.text[2:].partition("=")
        option = _long_option(name, where=word.where)
        if option is None:
            value: str | None = given if equals else self._loose_value()
            return Typed(option=None, name=name, value=value, where=word.where)
        if equals and option.takes is Takes.NOTHING:
            raise ScriptError(f"--{option.name} takes no value", where=word.where)
        value = given if equals else None
        if not equals and option.takes is Takes.VALUE:
            value = self._value(f"--{option.name}", where=word.where)
        return Typed(option=option, name=option.name, value=value, where=word.where)

    def _cluster(self, word: Word) -> tuple[Typed, ...]:
        found: list[Typed] = []
        letters = word.text[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            option = SHORT.get(letter)
            if option is None:
                raise ScriptError(f"sbatch has no option -{letter}", where=word.where)
            value: str | None = None
            if option.takes is not Takes.NOTHING:
                value, letters = letters or None, ""
            if option.takes is Takes.VALUE and value is None:
                value = self._value(f"-{letter}", where=word.where)
            found.append(Typed(option=option, name=option.name, value=value, where=word.where))
        return tuple(found)

    def _value(self, spelling: str, *, where: str) -> str:
        if self._place >= len(self._words):
            raise ScriptError(f"{spelling} needs a value", where=where)
        self._place += 1
        return self._words[self._place - 1].text

    def _loose_value(self) -> str | None:
        """What follows an option that we do not know: its value, unless it looks like an option."""
        if self._place < len(self._words) and not self._words[self._place].text.startswith(("-", ":")):
            self._place += 1
            return self._words[self._place - 1].text
        return None


def _long_option(name: str, *, where: str) -> Option | None:
    """The option of this name, or the one that alone begins so; None when no option does."""
    if name in LONG:
        return LONG[name]
    begun = [option for long, option in LONG.items() if long.startswith(name)]
    if len({option.key for option in begun}) > 1:
        names = ", ".join(f"--{option.name}" for option in begun)
        raise ScriptError(f"--{name} can be any of {names}; write it out", where=where)
    return begun[0] if begun else None
