"""The one error of reading a script: sbatch would not submit it, or what it says cannot be told from it."""

from __future__ import annotations


class ScriptError(Exception):
    """`where` is the line, variable or argument; the text says what is wrong and what to write instead."""

    def __init__(self, text: str, *, where: str = "") -> None:
        super().__init__(f"{where}: {text}" if where else text)
        self.text = text
        self.where = where
