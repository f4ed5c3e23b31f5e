"""What the status page shows, as data: the JSON that it answers with, and all that its HTML is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from k8s_bridge.core.conditions import Finding
from k8s_bridge.runtime.product import SLURM, Product
from k8s_bridge.runtime.reading import Queue, Reading
from k8s_bridge.runtime.recent import Happening
from k8s_bridge.runtime.turn import Turn
from k8s_bridge.runtime.units import UnitRow, sort_units

_WELL_WHEN_FALSE = frozenset({"Conflicting"})


class Sign(msgspec.Struct, frozen=True, kw_only=True):
    """A condition or a safety guard, and whether all is well."""

    name: str
    well: bool
    text: str = ""


class BridgeView(msgspec.Struct, frozen=True, kw_only=True):
    """One WorkloadMixing and its bridge. Times are Unix seconds."""

    name: str
    ready: bool
    text: str
    """Why it is not ready; "" when it is."""
    slurm: Mapping[str, str]
    last_answer: float
    token_expires: float | None
    states: Mapping[str, int]
    nodes: int
    conditions: tuple[Sign, ...]
    guards: tuple[Sign, ...]
    queues: tuple[Queue, ...]


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Everything at one moment. `product` is the name of the bridge whose page it is."""

    product: str
    now: float
    version: str
    turn: Turn
    bridges: tuple[BridgeView, ...]
    units: tuple[UnitRow, ...]
    changes: tuple[Happening, ...]


def overview(  # noqa: PLR0913 - what is shown, by keyword
    *,
    product: Product,
    now: float,
    version: str,
    turn: Turn,
    readings: Mapping[str, Reading],
    findings: Mapping[str, Mapping[str, Finding]],
    units: Iterable[UnitRow],
    changes: Iterable[Happening],
) -> Overview:
    """The overview; a WorkloadMixing whose spec was never good has findings and no reading."""
    names = sorted(readings.keys() | findings.keys())
    return Overview(
        product=product.name,
        now=now,
        version=version,
        turn=turn,
        bridges=tuple(_bridge(name, product, readings.get(name), findings.get(name, {})) for name in names),
        units=tuple(sort_units(units)),
        changes=tuple(changes),
    )


def _bridge(
    name: str, product: Product, reading: Reading | None, findings: Mapping[str, Finding]
) -> BridgeView:
    known = reading or Reading(blocked="its spec is refused")
    ready = findings.get(product.ready)
    states: Counter[str] = Counter()
    for group, count in known.units.items():
        states[group.state] += count
    return BridgeView(
        name=name,
        ready=ready is not None and ready.status == "True",
        text=ready.message if ready and ready.status != "True" else "" if ready else known.blocked,
        slurm=known.info,
        last_answer=known.last_answer,
        token_expires=known.token_expires,
        states=dict(states),
        nodes=known.slurm_nodes,
        conditions=tuple(map(_condition, findings.values())),
        guards=tuple(_guards(known, product)),
        queues=known.queues,
    )


def _condition(finding: Finding) -> Sign:
    well = (finding.status == "True") is not (finding.type in _WELL_WHEN_FALSE)
    return Sign(name=finding.type, well=well, text=finding.message or finding.reason)


def _guards(reading: Reading, product: Product) -> Iterator[Sign]:
    """What keeps the bridge from doing harm, and what it found that it must not touch."""
    fresh = "every source is synced and fresh: decisions are made"
    yield Sign(name="Freshness", well=not reading.blocked, text=reading.blocked or fresh)
    yield Sign(name="Loop", well=not reading.wedged, text=reading.wedged or "works")
    if product is SLURM:
        yield from _slurm_guards(reading)


def _slurm_guards(reading: Reading) -> Iterator[Sign]:
    refused = "Slurm suddenly knows none of many of our jobs: nothing is deleted"
    none = "no suspicious disappearance of jobs"
    yield Sign(name="Mass deletion", well=not reading.guarded, text=refused if reading.guarded else none)
    yield _none_of("Ghost nodes", reading.ghost_nodes, "Slurm nodes of ours whose JobSet is gone")
    yield _none_of("Quarantine", sum(reading.quarantined.values()), "items of Slurm that cannot be read")


def _none_of(name: str, count: int, what: str) -> Sign:
    return Sign(name=name, well=count == 0, text=f"{count or 'no'} {what}")
