"""What is counted while it happens. One object with its own registry, passed to whoever counts.

Labels are bounded: never a job id, a user or an object's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from itertools import product

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.exposition import generate_latest

from k8s_bridge.core.effects import Event
from k8s_bridge.core.errors import BridgeError
from k8s_bridge.kube.observe import Observer
from k8s_bridge.runtime.controller import K, Outcome, Result
from k8s_bridge.runtime.families import MIXING, PREFIX, Family, Kind
from k8s_bridge.runtime.gauges import FAMILIES, Gauges
from k8s_bridge.runtime.supervisor import Change, Report

_LIFE = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400)
_CALL = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Stage(StrEnum):
    """The stages of a job's life; each starts where the one before ended."""

    PICKUP = "pickup"
    """Seen held to JobSet created."""
    ADMISSION_WAIT = "admission_wait"
    """JobSet created to Workload admitted."""
    PROVISION = "provision"
    """Admitted to all nodes registered."""
    RELEASE = "release"
    """Nodes registered to job released."""
    START = "start"
    """Released to running."""
    TEARDOWN = "teardown"
    """Job over to everything given back."""


class JobSetChange(StrEnum):
    """What happened to a JobSet of ours."""

    CREATED = "jobsets_created"
    DELETED = "jobsets_deleted"
    CREATE_FAILED = "jobset_create_errors"


class _Instruments:
    """Makes counters and histograms in one registry, and remembers which."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.families: list[Family] = []

    def counter(self, name: str, text: str, *labels: str) -> Counter:
        family = self._family(name, Kind.COUNTER, text, labels)
        return Counter(family.full_name, text, labels, registry=self.registry)

    def histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        family = self._family(name, Kind.HISTOGRAM, text, labels)
        return Histogram(family.full_name, text, labels, buckets=buckets, registry=self.registry)

    def _family(self, name: str, kind: Kind, text: str, labels: tuple[str, ...]) -> Family:
        family = Family(name=name, kind=kind, text=text, labels=labels)
        self.families.append(family)
        return family


class Metrics:
    """All instruments. `leading` is asked at each scrape."""

    def __init__(self, leading: Callable[[], bool], *, prefix: str = PREFIX) -> None:
        self._prefix = prefix
        self._instruments = _Instruments()
        self.registry = self._instruments.registry
        ProcessCollector(registry=self.registry)
        self.gauges = Gauges(leading)
        self.registry.register(self.gauges)
        self._effects = self._counter("effects", "Effects by what became of them.", "effect", "result")
        self._effect_seconds = self._histogram("effect_duration_seconds", "One effect.", _CALL, "effect")
        self._undecided = self._counter("undecided", "Exceptions in decide.", "result")
        self._verdicts = self._counter("verdicts", "Changes of verdict, by the state entered.", "state")
        self._stages = self._histogram("stage_duration_seconds", "Stages of a job's life.", _LIFE, "stage")
        self._latency = self._histogram(
            "job_release_latency_seconds", "From first seen held to released onto its nodes.", _LIFE
        )
        self._slurm = self._counter("slurm_api_requests", "Calls of slurmrestd.", "method", "code")
        self._slurm_seconds = self._histogram(
            "slurm_request_duration_seconds", "One call of slurmrestd.", _CALL, "method"
        )
        self._slurm_bytes = self._counter("slurm_response_bytes", "Bytes of slurmrestd's answers.", "method")
        self._jobsets = {
            change: self._counter(change.value, f"JobSets: {change.name.lower().replace('_', ' ')}.")
            for change in JobSetChange
        }
        self._failed = self._counter("jobs_failed", "Slurm jobs that the bridge had to fail.")
        self._requeues = self._counter("requeues", "Jobs that lost their nodes, by queue.", "queue", "cause")
        self._leaks = self._counter(
            "leaks", "Tasks and actors of Ray that an audit found off their job's workers.", "direction"
        )
        self._restarts = self._counter("bridge_restarts", "Restarts of a bridge after a crash.")
        self.kube = KubeMetrics(self._instruments)

    @property
    def families(self) -> tuple[Family, ...]:
        """Every metric of ours; besides there is what the client library tells of the process."""
        return (*FAMILIES, *self._instruments.families)

    def outcome(self, outcome: Outcome[K]) -> None:
        """Hook of the loop."""
        name = outcome.controller
        match outcome.result:
            case Result.GATE:
                pass
            case Result.VERDICT:
                self._verdicts.labels(name, outcome.state).inc()
            case result if outcome.effect == "decide":
                self._undecided.labels(name, result.value).inc()
            case result:
                self._effects.labels(name, outcome.effect, result.value).inc()
                self._effect_seconds.labels(name, outcome.effect).observe(outcome.seconds)

    def report(self, report: Report) -> None:
        """Hook of the supervisor."""
        match report.change:
            case Change.STARTED:
                self._introduce(report.name)
            case Change.STOPPED:
                self.gauges.forget(report.name)
            case Change.CRASHED:
                self._restarts.labels(report.name).inc()
            case Change.RELOADED:
                pass

    def _introduce(self, name: str) -> None:
        """Show it, with zeroes, from the start."""
        self.gauges.expect(name)
        for counter in (*self._jobsets.values(), self._failed, self._restarts):
            counter.labels(name)
        self._undecided.labels(name, Result.BUG.value)

    def stage(self, name: str, *, stage: Stage, seconds: float) -> None:
        """A job of the WorkloadMixing `name` ended `stage` after `seconds`."""
        self._stages.labels(name, stage.value).observe(max(0.0, seconds))

    def released(self, name: str, *, seconds: float) -> None:
        """A job was released `seconds` after it was first seen held."""
        self._latency.labels(name).observe(max(0.0, seconds))

    def slurm_call(self, name: str, *, method: str, code: int, seconds: float, size: int = 0) -> None:
        """A call of slurmrestd ended; `code` 0 means no answer, `size` is the answer in bytes."""
        self._slurm.labels(name, method, str(code)).inc()
        self._slurm_seconds.labels(name, method).observe(seconds)
        self._slurm_bytes.labels(name, method).inc(size)

    def jobset(self, name: str, *, change: JobSetChange) -> None:
        """A JobSet was created or deleted, or could not be created."""
        self._jobsets[change].labels(name).inc()

    def job_failed(self, name: str) -> None:
        """The bridge failed a Slurm job."""
        self._failed.labels(name).inc()

    def prepare(
        self, name: str, *, states: Iterable[str], queues: Iterable[str], causes: Iterable[str]
    ) -> None:
        """Show zeroes for what may be counted: a rate does not see the step from nothing to one."""
        for state in states:
            self._verdicts.labels(name, state)
        for queue, cause in product(queues, causes):
            self._requeues.labels(name, queue, cause)

    def requeued(self, name: str, *, queue: str, cause: str) -> None:
        """A job lost its nodes: `cause` is the state that it entered."""
        self._requeues.labels(name, queue, cause).inc()

    def leaked(self, name: str, *, direction: str) -> None:
        """Work of Ray was found on another job's workers ("in"), or off its own ("out")."""
        self._leaks.labels(name, direction).inc()

    def text(self) -> bytes:
        """Everything in the Prometheus text format, under the names of this process's bridge."""
        return generate_latest(self.registry).replace(PREFIX.encode(), self._prefix.encode())

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return self._instruments.counter(name, text, MIXING, *labels)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return self._instruments.histogram(name, text, buckets, MIXING, *labels)


class KubeMetrics(Observer):
    """What the Kubernetes client tells; it serves all bridges, so there is no label for one."""

    def __init__(self, instruments: _Instruments) -> None:
        counter = instruments.counter
        self._calls = counter("kube_requests", "Calls of the Kubernetes API.", "method", "kind", "code")
        self._bytes = counter("kube_response_bytes", "Bytes of the API server's answers.", "kind")
        self._malformed = counter("kube_malformed_objects", "Objects left out as malformed.", "kind")
        self._errors = counter("kube_reflector_errors", "Lists and watches that failed.", "kind")
        self._lists = counter("kube_lists", "Complete listings.", "kind")
        self._dropped = counter("kube_events_dropped", "Kubernetes Events not written.")
        self._lease_errors = counter("kube_lease_errors", "Failed attempts to take or renew the lease.")
        self._seconds = instruments.histogram(
            "kube_request_duration_seconds", "One call of the Kubernetes API.", _CALL, "method"
        )

    def on_call(self, *, method: str, kind: str, code: int, seconds: float, size: int) -> None:
        """Counted by method, kind and code."""
        self._calls.labels(method, kind, str(code)).inc()
        self._seconds.labels(method).observe(seconds)
        self._bytes.labels(kind).inc(size)

    def on_malformed(self, *, kind: str, key: str, error: str) -> None:  # noqa: ARG002 - not labels
        """Counted by kind."""
        self._malformed.labels(kind).inc()

    def on_reflector_error(self, *, kind: str, error: BridgeError) -> None:  # noqa: ARG002 - the same
        """Counted by kind."""
        self._errors.labels(kind).inc()

    def on_list(self, *, kind: str, items: int, seconds: float) -> None:  # noqa: ARG002 - the same
        """Counted by kind."""
        self._lists.labels(kind).inc()

    def on_event_dropped(self, *, event: Event) -> None:  # noqa: ARG002 - the same
        """Counted."""
        self._dropped.inc()

    def on_lease_error(self, *, error: BridgeError) -> None:  # noqa: ARG002 - the same
        """Counted."""
        self._lease_errors.inc()
