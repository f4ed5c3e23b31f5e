"""For who waits: what my queue runs, what waits and why, what quota there is, what was preempted."""

from __future__ import annotations

from monitoring.dashboards.model import Dashboard, Panel, Query, Row, Shape, Unit, Variable
from monitoring.promql import metric, quantile

_QUEUE = "~$queue"
_RUNS = "~Running|Completing"
_ARRIVES = "~Admitted|Ready|Released"
_WAITS = (
    "~Held|WaitingTurn|Ineligible|Denied|Queued|Parked|Resized|CapacityFailed|HeldByOther|Withheld|Refused"
)


def _units(state: str) -> str:
    return f"sum({metric('units', queue=_QUEUE, state=state)}) or vector(0)"


def _requeues(cause: str, time: str) -> str:
    return f"sum(increase({metric('requeues_total', queue=_QUEUE, cause=cause)}[{time}])) or vector(0)"


def _number(title: str, tells: str, expression: str) -> Panel:
    return Panel(title=title, tells=tells, queries=(Query(expression, title),), shape=Shape.NUMBER)


_NOW = Row(
    title="Now",
    panels=(
        _number("Running", "Slurm jobs that run, and slots of job arrays.", _units(_RUNS)),
        _number("Starting", "They have quota; their nodes are on the way.", _units(_ARRIVES)),
        _number("Waiting", "For what: below.", _units(_WAITS)),
        _number(
            "All that waits for quota",
            "Workloads of the queue, Jobs, JobSets and others with the Slurm jobs.",
            f"sum(max by (queue) ({metric('local_queue_pending_workloads', queue=_QUEUE)}))",
        ),
        _number(
            "Preempted, last day",
            "Their quota was taken back; they were requeued.",
            _requeues("Evicted", "1d"),
        ),
        _number(
            "Lost a node, last day", "A pod or machine went; they were requeued.", _requeues("Lost", "1d")
        ),
    ),
)

_WHY = Row(
    title="Waiting, and why",
    panels=(
        Panel(
            title="What jobs wait for",
            tells="Queued: quota. WaitingTurn: others of the queue come first. Ineligible: a dependency, a "
            "begin time, a license. Parked: pods did not start, it is tried again. HeldByOther: somebody "
            "holds it. Refused: an option cannot be met. squeue and explain have the words for each job.",
            queries=(
                Query(
                    f"sum by (state) ({metric('units', queue=_QUEUE, state=_WAITS)}) or vector(0)",
                    "{{state}}",
                ),
            ),
            stacked="normal",
        ),
        Panel(
            title="How long the oldest has waited",
            tells="By what it waits for, in all queues of the bridge.",
            queries=(
                Query(
                    f"max by (state) ({metric('oldest_unit_age_seconds', state=_WAITS)}) or vector(0)",
                    "{{state}}",
                ),
            ),
            unit=Unit.SECONDS,
        ),
        Panel(
            title="From submission to release",
            tells="Of jobs that were released lately, in all queues: half were faster than the lower line.",
            queries=tuple(
                Query(quantile(share, "job_release_latency_seconds"), f"{share:.0%}") for share in (0.5, 0.9)
            ),
            unit=Unit.SECONDS,
        ),
    ),
)

_QUOTA = Row(
    title="Quota",
    panels=(
        Panel(
            title="In use by my queue",
            tells="Reserved by my queue, Slurm jobs and others, in the unit of each resource.",
            queries=(
                Query(
                    f"sum by (queue, resource) (max by (queue, flavor, resource) "
                    f"({metric('local_queue_reserved', queue=_QUEUE)}))",
                    "{{queue}} {{resource}}",
                ),
            ),
        ),
        Panel(
            title="In use by all, of what there is",
            tells="100 %: what comes now waits, preempts, or borrows.",
            queries=(
                Query(
                    f"sum by (cluster_queue, resource) (max by (cluster_queue, flavor, resource) "
                    f"({metric('cluster_queue_reserved')})) / (sum by (cluster_queue, resource) "
                    f"(max by (cluster_queue, flavor, resource) ({metric('cluster_queue_quota')})) > 0)",
                    "{{cluster_queue}} {{resource}}",
                ),
            ),
            unit=Unit.SHARE,
        ),
        Panel(
            title="Preempted and lost",
            tells="Jobs of my queue that were requeued, in the hour before.",
            queries=(
                Query(
                    f"sum by (cause) (increase({metric('requeues_total', queue=_QUEUE)}[1h])) or vector(0)",
                    "{{cause}}",
                ),
            ),
        ),
    ),
)

RESEARCHER = Dashboard(
    name="researcher",
    title="k8s-bridge / My queue",
    tells="What my queue runs, what waits and why, quota, preemptions.",
    variables=(
        Variable(name="queue", title="Queue", metric=metric("local_queue_pending_workloads"), label="queue"),
    ),
    rows=(_NOW, _WHY, _QUOTA),
)
