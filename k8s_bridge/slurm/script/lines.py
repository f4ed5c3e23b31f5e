"""Which lines of a script sbatch reads, and the words in them.

#SBATCH counts at the very start of a line, with or without a blank after it, until the first line that is
neither blank nor a comment. `#SBATCH hetjob` begins the next component.
"""

from __future__ import annotations

from dataclasses import dataclass

from k8s_bridge.slurm.script.errors import ScriptError

_MAGIC = ("#SBATCH", "#SLURM")
_FOREIGN = ("#PBS", "#BSUB")
_SEPARATORS = ("packjob", "hetjob")
_BLANKS = " \t\v\f\r\n"
_LARGEST = 4 * 2**20
_QUOTES = "\"'"


@dataclass(frozen=True, slots=True)
class Word:
    """One word of an option line or of the command line; `where` is such as "line 3"."""

    text: str
    where: str


def check_shape(text: str) -> None:
    """ScriptError for what sbatch does not take for a script."""
    if not text.strip(_BLANKS):
        raise ScriptError("the script is empty")
    if not text.startswith("#!"):
        raise ScriptError("a script begins with #! and an interpreter, such as #!/bin/bash", where="line 1")
    if "\0" in text:
        raise ScriptError("the script has a NUL character; remove it")
    if len(text.encode(errors="surrogateescape")) > _LARGEST:
        raise ScriptError("the script is larger than the 4 MiB that slurmctld takes (max_script_size)")
    if "\r\n" in text:
        raise ScriptError("the script has DOS line ends; convert it, for instance with dos2unix")


def foreign(text: str) -> str:
    """The first line of options for another batch system ("" for none), which sbatch would translate."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith(_FOREIGN):
            return f"line {number}"
    return ""


def components(text: str) -> tuple[tuple[Word, ...], ...]:
    """The words of the option lines, by component; one component, perhaps empty, at least."""
    found: list[list[Word]] = [[]]
    for number, line in enumerate(text.split("\n"), start=1):
        options = _options(line)
        if options is None:
            if _is_command(line):
                break
            continue
        if _separator(options.lstrip(_BLANKS)):
            found.append([])
            continue
        where = f"line {number}"
        found[-1].extend(Word(word, where) for word in split(options, where=where))
    return tuple(tuple(words) for words in found)


def split(line: str, *, where: str = "") -> tuple[str, ...]:
    """The words of one option line, as sbatch splits it: not as a shell does.

    An unquoted # ends the line wherever it stands, a backslash keeps the next character, and an empty word
    ends the line.
    """
    found: list[str] = []
    rest = line
    while (word := _Word(rest, where)).text is not None:
        found.append(word.text)
        rest = rest[word.length :]
    return tuple(found)


def _options(line: str) -> str | None:
    return next((line[len(magic) :] for magic in _MAGIC if line.startswith(magic)), None)


def _is_command(line: str) -> bool:
    bare = line.lstrip(_BLANKS)
    return bool(bare) and not bare.startswith("#")


def _separator(text: str) -> bool:
    word = text.lower()
    return any(word.startswith(name) and word[len(name) : len(name) + 1] in _END for name in _SEPARATORS)


_END = ("", *_BLANKS)


class _Word:
    """The first word of `line`: its text (None when there is none) and how far it reaches."""

    def __init__(self, line: str, where: str) -> None:
        self._line = line
        self.length = len(line) - len(line.lstrip(_BLANKS))
        self._found: list[str] = []
        self._quote = ""
        if self._next() == ":":
            raise ScriptError("a word cannot begin with `:`; components are begun with hetjob", where=where)
        if not _separator(line[self.length :]):
            self._read()
        if self._quote:
            raise ScriptError(f"a {self._quote} is not closed", where=where)
        self.text = "".join(self._found) if self._found else None

    def _read(self) -> None:
        while self._goes_on():
            char = self._take()
            if char == "\\":
                self._escaped()
            elif self._quote:
                if char == self._quote:
                    self._quote = ""
                else:
                    self._found.append(char)
            elif char in _QUOTES:
                self._quote = char
            elif char == "#":
                self.length -= 1
                return
            else:
                self._found.append(char)

    def _goes_on(self) -> bool:
        char = self._next()
        return bool(char) and (bool(self._quote) or char not in _BLANKS)

    def _escaped(self) -> None:
        """A blank is kept; any other blank character than a space still ends a word outside quotes."""
        if self._next() == " " or self._goes_on():
            self._found.append(self._take())

    def _next(self) -> str:
        return self._line[self.length : self.length + 1]

    def _take(self) -> str:
        char = self._next()
        self.length += 1
        return char
