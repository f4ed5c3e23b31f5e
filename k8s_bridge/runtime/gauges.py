"""Gauges that are read at the moment of the scrape, so that none can show what was true once.

A bridge that is wanted is shown even while it does not run: an alert must not end because a bridge crashed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from platform import python_version

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from k8s_bridge.core.conditions import Finding
from k8s_bridge.runtime.families import MIXING, Family, Kind
from k8s_bridge.runtime.reading import NOT_RUNNING, Queue, Reading

Samples = Iterable[tuple[tuple[str, ...], float]]
"""Values by the labels after the bridge's own."""
Findings = Mapping[str, Finding]
_INFO = ("slurm_version", "slurm_api_version", "slurm_cluster")


@dataclass(frozen=True, slots=True)
class _Gauge:
    name: str
    text: str
    read: Callable[[Reading], Samples]
    labels: tuple[str, ...] = ()

    @property
    def family(self) -> Family:
        return Family(name=self.name, kind=Kind.GAUGE, text=self.text, labels=(MIXING, *self.labels))


def _one(value: Callable[[Reading], float | None]) -> Callable[[Reading], Samples]:
    def read(reading: Reading) -> Samples:
        found = value(reading)
        return () if found is None else (((), found),)

    return read


def _units(reading: Reading) -> Samples:
    return (((g.state, g.partition, g.queue), count) for g, count in reading.units.items())


def _depth(reading: Reading) -> Samples:
    kinds = {"ready": reading.ready, "delayed": reading.delayed, "active": reading.active}
    return (((kind,), depth) for kind, depth in kinds.items())


def _by_one_label(values: Callable[[Reading], Mapping[str, float]]) -> Callable[[Reading], Samples]:
    return lambda reading: (((label,), value) for label, value in values(reading).items())


def _info(reading: Reading) -> Samples:
    return ((tuple(reading.info.get(label, "") for label in _INFO), 1.0),) if reading.info else ()


def _workloads(count: Callable[[Queue], int]) -> Callable[[Reading], Samples]:
    return lambda reading: (((queue.name,), count(queue)) for queue in reading.queues)


def _reserved(reading: Reading) -> Samples:
    return (((q.name, a.flavor, a.resource), a.used) for q in reading.queues for a in q.amounts)


def _reserved_by_all(reading: Reading) -> Samples:
    return {
        (q.cluster_queue, a.flavor, a.resource): a.used_by_all for q in reading.queues for a in q.amounts
    }.items()


def _quota(reading: Reading) -> Samples:
    return {
        (q.cluster_queue, a.flavor, a.resource): a.nominal for q in reading.queues for a in q.amounts
    }.items()


_GAUGES = (
    _Gauge("held_jobs", "Held jobs that have no quota yet.", _one(lambda r: r.held_jobs)),
    _Gauge(
        "units", "Units (jobs, and slots of job arrays) by state.", _units, ("state", "partition", "queue")
    ),
    _Gauge(
        "oldest_unit_age_seconds",
        "How long the oldest unit in a state has been in it.",
        _by_one_label(lambda r: r.oldest),
        ("state",),
    ),
    _Gauge("slurm_jobs_listed", "Slurm jobs known to slurmctld, in any state.", _one(lambda r: r.slurm_jobs)),
    _Gauge("slurm_nodes", "Registered dynamic Slurm nodes of this bridge.", _one(lambda r: r.slurm_nodes)),
    _Gauge("ghost_nodes", "Slurm nodes of this bridge whose JobSet is gone.", _one(lambda r: r.ghost_nodes)),
    _Gauge("synced", "1 when every source is synced and fresh.", _one(lambda r: float(not r.blocked))),
    _Gauge("wedged", "1 when the loop hangs, as /healthz says.", _one(lambda r: float(bool(r.wedged)))),
    _Gauge(
        "deletions_refused",
        "1 while deletions are refused because Slurm suddenly knows none of many jobs.",
        _one(lambda r: float(r.guarded)),
    ),
    _Gauge(
        "last_successful_tick_timestamp_seconds",
        "Unix time of the last good answer of Slurm; 0 is never.",
        _one(lambda r: r.last_answer),
    ),
    _Gauge(
        "token_expiry_timestamp_seconds",
        "Unix time at which the Slurm token expires; absent when it never does.",
        _one(lambda r: r.token_expires),
    ),
    _Gauge("queue_depth", "Units in the work queue: ready, delayed, active.", _depth, ("kind",)),
    _Gauge(
        "quarantined_items",
        "Malformed items that are left out, by source.",
        _by_one_label(lambda r: r.quarantined),
        ("source",),
    ),
    _Gauge(
        "local_queue_pending_workloads",
        "Workloads that wait in a LocalQueue, Slurm's and others.",
        _workloads(lambda queue: queue.pending),
        ("queue",),
    ),
    _Gauge(
        "local_queue_admitted_workloads",
        "Admitted Workloads of a LocalQueue, Slurm's and others.",
        _workloads(lambda queue: queue.admitted),
        ("queue",),
    ),
    _Gauge(
        "local_queue_reserved",
        "Quota that a LocalQueue has in use.",
        _reserved,
        ("queue", "flavor", "resource"),
    ),
    _Gauge(
        "cluster_queue_reserved",
        "Quota that a ClusterQueue has in use.",
        _reserved_by_all,
        ("cluster_queue", "flavor", "resource"),
    ),
    _Gauge(
        "cluster_queue_quota",
        "Nominal quota of a ClusterQueue; what is used beyond it is borrowed.",
        _quota,
        ("cluster_queue", "flavor", "resource"),
    ),
    _Gauge("slurm_info", "Versions of the Slurm that is bridged; always 1.", _info, _INFO),
)
_LEADER = Family(name="leader", kind=Kind.GAUGE, text="1 when this instance holds the lease.")
_BUILD = Family(
    name="build_info",
    kind=Kind.GAUGE,
    text="Version of this instance; always 1.",
    labels=("version", "python"),
)
_CONDITION = Family(
    name="condition",
    kind=Kind.GAUGE,
    text="Conditions of the WorkloadMixing: 1 is True, 0 is not. Only Conflicting is well at 0.",
    labels=(MIXING, "type"),
)
FAMILIES = (_LEADER, _BUILD, _CONDITION, *(gauge.family for gauge in _GAUGES))


class Gauges(Collector):
    """All gauges. A bridge is shown from `expect` to `forget`."""

    def __init__(self, leading: Callable[[], bool]) -> None:
        self._leading = leading
        self._readings: dict[str, Callable[[], Reading]] = {}
        self._findings: dict[str, Callable[[], Findings]] = {}

    def expect(self, name: str) -> None:
        """The bridge called `name` is wanted and does not run: it is shown so until it is watched."""
        self._readings[name] = lambda: NOT_RUNNING

    def watch(self, name: str, read: Callable[[], Reading]) -> None:
        """Ask `read` at each scrape for the bridge called `name`."""
        self._readings[name] = read

    def forget(self, name: str) -> None:
        """The bridge called `name` is not wanted any more."""
        self._readings.pop(name, None)

    def judge(self, name: str, findings: Callable[[], Findings]) -> None:
        """Ask `findings` at each scrape for the conditions of the WorkloadMixing called `name`."""
        self._findings[name] = findings

    def acquit(self, name: str) -> None:
        """The WorkloadMixing called `name` is gone."""
        self._findings.pop(name, None)

    def readings(self) -> Mapping[str, Reading]:
        """What each bridge says of itself now."""
        return {name: read() for name, read in self._readings.items()}

    def findings(self) -> Mapping[str, Findings]:
        """The conditions of each WorkloadMixing now, by type."""
        return {name: findings() for name, findings in self._findings.items()}

    def collect(self) -> Iterator[Metric]:
        """Everything, as of now."""
        readings = self.readings()
        yield _metric(_LEADER, [((), float(self._leading()))])
        yield _metric(_BUILD, [((version("k8s-bridge"), python_version()), 1.0)])
        yield _metric(_CONDITION, self._conditions())
        for gauge in _GAUGES:
            yield _metric(
                gauge.family,
                (((name, *labels), value) for name, r in readings.items() for labels, value in gauge.read(r)),
            )

    def _conditions(self) -> Samples:
        for name, findings in self.findings().items():
            for finding in findings.values():
                yield (name, finding.type), float(finding.status == "True")


def _metric(family: Family, samples: Samples) -> Metric:
    metric = GaugeMetricFamily(family.full_name, family.text, labels=family.labels)
    for labels, value in samples:
        metric.add_metric(labels, value)
    return metric
