"""Gauges that are read at the moment of the scrape, so that none can show what was true once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitGroup:
    """Labels that units are counted by; never anything that names one unit or person."""

    state: str
    partition: str = ""
    queue: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one bridge says of itself at a scrape."""

    units: Mapping[UnitGroup, int] = field(default_factory=dict)
    held_jobs: int = 0
    """Held jobs without quota yet."""
    slurm_jobs: int = 0
    """All jobs that slurmctld knows, in any state."""
    slurm_nodes: int = 0
    """Registered dynamic nodes of ours."""
    ready: int = 0
    """Queue: units to be looked at now."""
    delayed: int = 0
    """Queue: units that rest or have a timer."""
    active: int = 0
    """Queue: units that are being worked on."""
    blocked: str = ""
    """Why nothing is decided; "" is counted as synced."""
    last_answer: float = 0.0
    """Unix seconds of Slurm's last good answer; 0 is never."""
    token_expires: float | None = None
    """Unix seconds; None when the token does not say, or is not known yet."""
    quarantined: Mapping[str, int] = field(default_factory=dict)
    """Malformed items left out now, by source."""
    info: Mapping[str, str] = field(default_factory=dict)
    """slurm_version, slurm_api_version, slurm_cluster."""


_BY_BRIDGE: tuple[tuple[str, str, Callable[[Reading], float | None]], ...] = (
    ("held_jobs", "Held Slurm jobs that have no quota yet.", lambda r: r.held_jobs),
    ("slurm_jobs_listed", "Slurm jobs known to slurmctld, in any state.", lambda r: r.slurm_jobs),
    ("slurm_nodes", "Registered dynamic Slurm nodes of this bridge.", lambda r: r.slurm_nodes),
    ("synced", "1 when every source is synced and fresh.", lambda r: float(not r.blocked)),
    (
        "last_successful_tick_timestamp_seconds",
        "Unix time of the last good answer of Slurm; 0 is never.",
        lambda r: r.last_answer,
    ),
    (
        "token_expiry_timestamp_seconds",
        "Unix time at which the Slurm token expires; absent when it never does.",
        lambda r: r.token_expires,
    ),
)
_INFO = ("slurm_version", "slurm_api_version", "slurm_cluster")


class Gauges(Collector):
    """All gauges. A bridge is shown from `watch` to `forget`."""

    def __init__(self, leading: Callable[[], bool]) -> None:
        self._leading = leading
        self._readings: dict[str, Callable[[], Reading]] = {}

    def watch(self, name: str, read: Callable[[], Reading]) -> None:
        """Ask `read` at each scrape for the bridge called `name`."""
        self._readings[name] = read

    def forget(self, name: str) -> None:
        """The bridge called `name` is gone, and so are its gauges."""
        self._readings.pop(name, None)

    def collect(self) -> Iterator[Metric]:
        """Everything, as of now."""
        readings = {name: read() for name, read in self._readings.items()}
        leader = GaugeMetricFamily("k8s_bridge_leader", "1 when this instance holds the lease.")
        leader.add_metric([], float(self._leading()))
        yield leader
        for name, text, value in _BY_BRIDGE:
            yield _simple(name, text, {bridge: value(reading) for bridge, reading in readings.items()})
        yield _units(readings)
        yield _queue(readings)
        yield _quarantined(readings)
        yield _info(readings)


def _family(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"k8s_bridge_{name}", text, labels=["workloadmixing", *labels])


def _simple(name: str, text: str, values: Mapping[str, float | None]) -> Metric:
    family = _family(name, text)
    for bridge, value in values.items():
        if value is not None:
            family.add_metric([bridge], value)
    return family


def _units(readings: Mapping[str, Reading]) -> Metric:
    family = _family("units", "Units by state.", "state", "partition", "queue")
    for bridge, reading in readings.items():
        for group, count in reading.units.items():
            family.add_metric([bridge, group.state, group.partition, group.queue], count)
    return family


def _queue(readings: Mapping[str, Reading]) -> Metric:
    family = _family("queue_depth", "Units in the work queue: ready, delayed, active.", "kind")
    for bridge, reading in readings.items():
        family.add_metric([bridge, "ready"], reading.ready)
        family.add_metric([bridge, "delayed"], reading.delayed)
        family.add_metric([bridge, "active"], reading.active)
    return family


def _quarantined(readings: Mapping[str, Reading]) -> Metric:
    family = _family("quarantined_items", "Malformed items that are left out, by source.", "source")
    for bridge, reading in readings.items():
        for source, count in reading.quarantined.items():
            family.add_metric([bridge, source], count)
    return family


def _info(readings: Mapping[str, Reading]) -> Metric:
    family = _family("slurm_info", "Versions of the Slurm that is bridged; always 1.", *_INFO)
    for bridge, reading in readings.items():
        if reading.info:
            family.add_metric([bridge, *(reading.info.get(label, "") for label in _INFO)], 1)
    return family
