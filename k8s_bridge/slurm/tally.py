"""Counts what happened to jobs and JobSets."""

from __future__ import annotations

from collections.abc import Iterable

from k8s_bridge.core.effects import Delete
from k8s_bridge.runtime.controller import Outcome, Result
from k8s_bridge.runtime.metrics import JobSetChange, Metrics
from k8s_bridge.slurm.effects import Cancel, CreateJobSet
from k8s_bridge.slurm.unit import Key, State, Unit

_FAILED = frozenset({Result.RETRY, Result.TERMINAL, Result.BUG})
_REQUEUES = frozenset({State.EVICTED, State.LOST})


class Tally:
    """For the WorkloadMixing `name`; a hook of the loop, and told by the controller of states entered."""

    def __init__(self, metrics: Metrics, name: str) -> None:
        self._metrics = metrics
        self._name = name

    def __call__(self, outcome: Outcome[Key]) -> None:
        """One effect came to an end."""
        match outcome.effect, outcome.result:
            case CreateJobSet.__name__, Result.DONE:
                self._metrics.jobset(self._name, change=JobSetChange.CREATED)
            case CreateJobSet.__name__, result if result in _FAILED:
                self._metrics.jobset(self._name, change=JobSetChange.CREATE_FAILED)
            case Delete.__name__, Result.DONE:  # JobSets are all that this bridge deletes in Kubernetes
                self._metrics.jobset(self._name, change=JobSetChange.DELETED)
            case Cancel.__name__, Result.DONE:
                self._metrics.job_failed(self._name)
            case _:
                pass

    def configure(self, queues: Iterable[str]) -> None:
        """Jobs may be sent to these queues from now on."""
        self._metrics.prepare(self._name, states=State, queues=queues, causes=_REQUEUES)

    def entered(self, unit: Unit, state: State) -> None:
        """A unit entered `state`."""
        if state in _REQUEUES:
            queue = unit.partition.queue if unit.partition else ""
            self._metrics.requeued(self._name, queue=queue, cause=state.value)
