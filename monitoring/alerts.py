"""When somebody is to be told, as data. Each alert has a section of the same name in docs/runbooks.md.

Durations are chosen so that a start, a change of leader and an upgrade are silent, and an outage stays told:
what an alert rests on must not go away with a restart.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from monitoring.promql import BRIDGE, RAY, by_bridge, leading, metric, of_either

RUNBOOKS = "docs/runbooks.md"
"""Where runbooks are; the chart puts another place there if it is told one."""
ABSENT, RAY_ABSENT = "K8sBridgeAbsent", "RayBridgeAbsent"
"""The chart leaves out the one whose bridge is not in the release."""


class Severity(StrEnum):
    """Who is told."""

    CRITICAL = "critical"
    """Wakes somebody: no job is served, or something irreversible is near."""
    WARNING = "warning"
    """Is looked at in working hours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert. `lasting` is how long the expression must hold, `keeps` how long it is told after that."""

    name: str
    expression: str
    severity: Severity
    summary: str
    detail: str
    lasting: str = "0s"
    keeps: str = ""

    @property
    def anchor(self) -> str:
        """Where its runbook begins."""
        return self.name.lower()


_WHO = "{{ $labels.workloadmixing }}"
_AGE = f"time() - {metric('last_successful_tick_timestamp_seconds')} > 180"
_REQUEUES = by_bridge("sum", f"increase({metric('requeues_total')}[30m])")
_STARTS = by_bridge("sum", f"increase({metric('verdicts_total', state='Running')}[30m])")
_CHECKED = metric("condition", type="~QueuesValid|PriorityClassesValid|TopologyValid|TemplateValid")
_RAY_CHECKED = metric("condition", prefix=RAY, type="RayReady")


def _blocked(prefix: str) -> str:
    return f"{by_bridge('min', leading(metric('synced', prefix=prefix), prefix=prefix))} == 0"


def _failing(prefix: str) -> str:
    """A fifth of all, and 10 of them in 10 minutes."""
    every = metric("effects_total", prefix=prefix)
    failed = metric("effects_total", prefix=prefix, result="~retry|terminal|bug")
    failures, effects = (by_bridge("sum", f"rate({one}[10m])") for one in (failed, every))
    return f"{failures} / {effects} > 0.2 and {failures} * 600 > 10"


ALERTS = (
    Alert(
        name=ABSENT,
        expression=f"absent({metric('leader')})",
        lasting="5m",
        severity=Severity.CRITICAL,
        summary="No instance of k8s-bridge answers.",
        detail="Prometheus has had no instance to scrape for 5 minutes. Running jobs go on; none is started.",
    ),
    Alert(
        name="K8sBridgeNotLeading",
        expression=of_either(
            lambda prefix: f"max by (job, namespace) ({metric('leader', prefix=prefix)}) == 0"
        ),
        lasting="2m",
        severity=Severity.CRITICAL,
        summary="No instance of k8s-bridge holds the lease.",
        detail="Instances are up and none of them leads: nothing is decided, no job is started.",
    ),
    Alert(
        name="K8sBridgeSlurmAnswerOld",
        expression=by_bridge("max", leading(f"({_AGE} and {metric('synced')} == 0)")),
        lasting="2m",
        keeps="5m",
        severity=Severity.CRITICAL,
        summary=f"Slurm does not answer the bridge {_WHO}.",
        detail="The last good answer of slurmrestd is too old to decide on. Running jobs go on; nothing is "
        "released, evicted or cleaned up.",
    ),
    Alert(
        name="K8sBridgeBlocked",
        expression=f"({of_either(_blocked)}) unless on ({BRIDGE}) {by_bridge('max', leading(_AGE))}",
        lasting="10m",
        severity=Severity.CRITICAL,
        summary=f"The bridge {_WHO} decides nothing, though Slurm answers.",
        detail="A source is not synced, or Slurm is another cluster than the one that JobSets were made for. "
        "Jobs wait, and nothing is given back.",
    ),
    Alert(
        name="K8sBridgeTokenExpires",
        expression=f"{by_bridge('min', metric('token_expiry_timestamp_seconds'))} - time() < 3600",
        lasting="5m",
        severity=Severity.WARNING,
        summary=f"The Slurm token of {_WHO} expires within the hour.",
        detail="{{ $value | humanizeDuration }} are left. When it has expired slurmrestd refuses everything.",
    ),
    Alert(
        name="K8sBridgeProvisioningStuck",
        expression=by_bridge("max", leading(metric("oldest_unit_age_seconds", state="Admitted"))) + " > 600",
        keeps="20m",
        severity=Severity.WARNING,
        summary=f"A job of {_WHO} has quota and no nodes.",
        detail="For {{ $value | humanizeDuration }} pods of an admitted job have not registered with Slurm: "
        "they cannot be scheduled, pull no image, or do not reach slurmctld. Quota is held meanwhile.",
    ),
    Alert(
        name="K8sBridgeGhostNodes",
        expression=by_bridge("max", leading(metric("ghost_nodes"))) + " > 0",
        lasting="15m",
        severity=Severity.WARNING,
        summary=f"Slurm keeps {{{{ $value }}}} node(s) of {_WHO} whose pods are gone.",
        detail="The bridge deletes such records within seconds; for 15 minutes it could not.",
    ),
    Alert(
        name="K8sBridgeDeletionsRefused",
        expression=by_bridge("max", leading(metric("deletions_refused"))) + " == 1",
        severity=Severity.CRITICAL,
        summary=f"Slurm has suddenly forgotten most jobs of {_WHO}; nothing is deleted.",
        detail="More than half of the jobs with a JobSet are unknown to slurmctld at once. In 10 minutes the "
        "bridge believes it and gives their capacity back: their pods end.",
    ),
    Alert(
        name="K8sBridgeMisconfigured",
        expression=f"{by_bridge('min', leading(_CHECKED), 'type')} == 0 "
        f"or {by_bridge('min', leading(_RAY_CHECKED, prefix=RAY), 'type')} == 0",
        lasting="5m",
        severity=Severity.WARNING,
        summary=f"{{{{ $labels.type }}}} is False on WorkloadMixing {_WHO}.",
        detail="A LocalQueue, ClusterQueue, WorkloadPriorityClass or Topology that jobs are sent to is "
        "missing or stopped, or a pod template does not render; RayReady: or a RayCluster is missing. Jobs "
        "of the partitions or pools concerned wait.",
    ),
    Alert(
        name="K8sBridgeErrors",
        expression=of_either(_failing),
        lasting="10m",
        severity=Severity.WARNING,
        summary=f"{{{{ $value | humanizePercentage }}}} of what the bridge {_WHO} does fails.",
        detail="Effects on Slurm, Ray or Kubernetes end with an error. What failed is tried again; jobs are "
        "slow or stuck.",
    ),
    Alert(
        name="K8sBridgeWedged",
        expression=of_either(
            lambda prefix: (
                by_bridge("max", f"max_over_time({metric('wedged', prefix=prefix)}[10m])") + " == 1"
            )
        ),
        severity=Severity.CRITICAL,
        summary=f"The loop of the bridge {_WHO} hung within the last 10 minutes.",
        detail="/healthz failed, so kubelet restarts the container; the other instance takes over.",
    ),
    Alert(
        name="K8sBridgeRequeueStorm",
        expression=f"{_REQUEUES} > 10 unless on ({BRIDGE}) ({_STARTS} * 0.5 >= {_REQUEUES})",
        severity=Severity.WARNING,
        summary=f"Jobs of {_WHO} lose their nodes as fast as they get them.",
        detail="{{ $value | humanize }} requeues in 30 minutes, more than half as many as there were starts.",
    ),
    Alert(
        name=RAY_ABSENT,
        expression=f"absent({metric('leader', prefix=RAY)})",
        lasting="5m",
        severity=Severity.CRITICAL,
        summary="No instance of the Ray bridge answers.",
        detail="Prometheus has had no instance to scrape for 5 minutes. Inner jobs that run go on; none is "
        "started.",
    ),
    Alert(
        name="RayBridgeLeak",
        expression=by_bridge("sum", f"increase({metric('leaks_total', prefix=RAY)}[10m])", "direction")
        + " > 0",
        lasting="1m",
        severity=Severity.WARNING,
        summary=f"Ray work of {_WHO} runs off its job's workers ({{{{ $labels.direction }}}}).",
        detail="in: somebody else's work runs on the workers that a job was admitted with. out: a job's own "
        "work runs elsewhere, on capacity that Kueue did not give it.",
    ),
)


def rules() -> dict[str, Any]:
    """The rule file of Prometheus, and the spec of a PrometheusRule."""
    return {"groups": [{"name": "k8s-bridge", "rules": [_rule(alert) for alert in ALERTS]}]}


def _rule(alert: Alert) -> dict[str, Any]:
    times = {"for": alert.lasting} | ({"keep_firing_for": alert.keeps} if alert.keeps else {})
    return {
        "alert": alert.name,
        "expr": alert.expression,
        **times,
        "labels": {"severity": alert.severity.value},
        "annotations": {
            "summary": alert.summary,
            "description": alert.detail,
            "runbook_url": f"{RUNBOOKS}#{alert.anchor}",
        },
    }
