"""From data to HTML. Everything is escaped: job names, users and texts are what people wrote."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from k8s_bridge.runtime.overview import BridgeView, Overview
from k8s_bridge.runtime.reading import Queue
from k8s_bridge.runtime.turn import Turn
from k8s_bridge.runtime.units import UnitDetail, UnitRow, age

SHOWN, CHANGES_SHOWN = 200, 40
_HERE = Path(__file__).parent
_STYLE = (_HERE / "style.css").read_text(encoding="utf-8")
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_KINDS = {
    "good": ("Running", "Completing", "open"),
    "come": ("Admitted", "Ready", "Released"),
    "wait": ("Held", "WaitingTurn", "Ineligible", "Queued", "Parked", "Withheld", "HeldByOther", "Resized"),
    "bad": ("Evicted", "Lost", "Refused", "Denied", "CapacityFailed", "Trespass", "Guarded", "blocked"),
}
_KIND_OF = {state: kind for kind, states in _KINDS.items() for state in states}
_BYTES = frozenset({"memory", "ephemeral-storage"})
_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi")
_KIBI = 1024


def status(overview: Overview, *, query: str) -> str:
    """The page; `query` chooses the units that have it in a column."""
    found = [row for row in overview.units if matches(row, query)]
    return _ENVIRONMENT.get_template("status.html").render(
        product=overview.product,
        now=overview.now,
        version=overview.version,
        turn=overview.turn,
        bridges=overview.bridges,
        units=found[:SHOWN],
        found=len(found),
        query=query,
        changes=overview.changes[:CHANGES_SHOWN],
    )


def unit(  # noqa: PLR0913 - what is shown, by keyword
    name: str, details: Sequence[UnitDetail], *, product: str, now: float, version: str, turn: Turn
) -> str:
    """The page of the units called `name`, none with a word on why."""
    template = _ENVIRONMENT.get_template("unit.html")
    return template.render(product=product, now=now, version=version, turn=turn, name=name, details=details)


def matches(row: UnitRow, query: str) -> bool:
    """Whether a column that people search by has these letters in it."""
    columns = (row.name, row.state, row.user, row.partition, row.queue, row.kind, row.reason, row.text)
    return query.casefold() in "\n".join(columns).casefold()


def amount(value: float, resource: str) -> str:
    """`3`, `0.5`, `12 Gi`: bytes in binary units, everything else as it is counted."""
    if resource not in _BYTES:
        return f"{value:.3g}" if value < _KIBI else f"{value:.0f}"
    power = 0
    while value >= _KIBI and power < len(_UNITS) - 1:
        value, power = value / _KIBI, power + 1
    return f"{value:.3g} {_UNITS[power]}".rstrip() if value else "0"


def _pulse(bridge: BridgeView, now: float) -> str:
    answer = (
        f"Slurm answered {age(now - bridge.last_answer)} ago"
        if bridge.last_answer
        else "no answer of Slurm yet"
    )
    left = bridge.token_expires
    token = [] if left is None else ["token expired" if left <= now else f"token good for {age(left - now)}"]
    return " · ".join([answer, *token, f"{bridge.nodes} Slurm nodes"])


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S")


def _kind(state: str) -> str:
    return _KIND_OF.get(state, "gone")


def _flavors(queues: Iterable[Queue]) -> int:
    return len({found.flavor for queue in queues for found in queue.amounts})


def _quoted(name: str) -> str:
    return quote(name, safe="")


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["style"] = _STYLE
    made.filters |= {
        "age": age,
        "amount": amount,
        "clock": _clock,
        "flavors": _flavors,
        "kind": _kind,
        "pulse": _pulse,
        "quoted": _quoted,
    }
    return made


_ENVIRONMENT = _environment()
