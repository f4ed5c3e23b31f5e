"""Record texts as slurmrestd writes them: indented, all fields, and made anew only where a row differs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_FIELD = " " * 6
_INNER = " " * 8
_EMPTY: dict[type, str] = {dict: "{}", list: "[]"}


class Template:
    """An empty record of one API version."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.record = record
        self._texts = {key: _text(value) for key, value in record.items()}

    def render(self, values: Mapping[str, Any]) -> str:
        """One record; values that this version has no field for are left out."""
        texts = self._texts.copy()
        for key, value in values.items():
            if key in texts:
                texts[key] = _text(value)
        lines = ",\n".join([f'{_FIELD}"{key}": {text}' for key, text in texts.items()])
        return f"    {{\n{lines}\n    }}"


def _text(value: Any) -> str:
    # The three cases that nearly every field is; indenting in general is slow.
    if isinstance(value, str | int | float) or value is None:
        return json.dumps(value).replace("/", "\\/")
    if not value:
        return _EMPTY[type(value)]
    if isinstance(value, dict) and value.keys() == {"set", "infinite", "number"}:
        flags = f'"set": {_flag(value["set"])},\n{_INNER}"infinite": {_flag(value["infinite"])}'
        return f'{{\n{_INNER}{flags},\n{_INNER}"number": {value["number"]}\n{_FIELD}}}'
    return json.dumps(value, indent=2).replace("/", "\\/").replace("\n", "\n" + _FIELD)


def _flag(value: object) -> str:
    return "true" if value else "false"
