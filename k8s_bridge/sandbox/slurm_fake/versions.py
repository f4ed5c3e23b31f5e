"""Which API versions each release serves, and each version's empty records, captured from real daemons."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One release: the versions that answer all calls or only ping; the HTTP status of a refused update."""

    release: str
    full: tuple[str, ...]
    ping_only: tuple[str, ...]
    refused: int


RELEASES = {
    "22.05": Release(release="22.05.8", full=(), ping_only=("v0.0.36", "v0.0.37", "v0.0.38"), refused=500),
    "24.11": Release(release="24.11.5", full=("v0.0.40", "v0.0.42"), ping_only=("v0.0.41",), refused=500),
    "26.05": Release(
        release="26.05.5",
        full=("v0.0.42", "v0.0.44", "v0.0.45"),
        ping_only=("v0.0.43",),
        refused=422,
    ),
}


@functools.cache
def records(version: str) -> dict[str, Any]:
    """`meta`, and an empty `job`, `node` and `partition` of a version. Never change what is returned."""
    text = resources.files(__package__).joinpath("records", f"{version}.json").read_text()
    loaded: dict[str, Any] = json.loads(text)
    return loaded
