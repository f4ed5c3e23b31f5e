"""When each alert is told and when not: series of two instances, `a` leads and `b` stands by unless said.

Scraped every 30 s; the notation is promtool's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

from monitoring.alerts import ALERTS
from support.promtool import growing, missing, steady

LONG = 120.0
A, B = (
    'job="k8s-bridge", namespace="platform", instance="a"',
    'job="k8s-bridge", namespace="platform", instance="b"',
)
MAIN = 'workloadmixing="hpc/main"'
BRIDGE = {"job": "k8s-bridge", "namespace": "platform", "workloadmixing": "hpc/main"}
RAY_BRIDGE = BRIDGE | {"job": "k8s-bridge-ray"}
LEADERS = {
    f"k8s_bridge_leader{{{A}}}": steady(1, minutes=LONG),
    f"k8s_bridge_leader{{{B}}}": steady(0, minutes=LONG),
}
SEVERITY = {alert.name: alert.severity.value for alert in ALERTS}


def of(instance: str, name: str, values: str, labels: str = "") -> dict[str, str]:
    """One series of an instance."""
    return {f"k8s_bridge_{name}{{{', '.join(filter(None, (instance, MAIN, labels)))}}}": values}


def of_ray(instance: str) -> str:
    """The Ray bridge is scraped by a job of its own."""
    return instance.replace('job="k8s-bridge"', 'job="k8s-bridge-ray"')


def ray(name: str, values: str, labels: str = "") -> dict[str, str]:
    """One series of the Ray bridge."""
    return {f"ray_bridge_{name}{{{', '.join(filter(None, (of_ray(A), MAIN, labels)))}}}": values}


def ray_leads() -> dict[str, str]:
    return {f"ray_bridge_leader{{{of_ray(A)}}}": steady(1, minutes=LONG)}


def slurm(instance: str, tick: str, synced: str) -> dict[str, str]:
    return of(instance, "last_successful_tick_timestamp_seconds", tick) | of(instance, "synced", synced)


HEALTHY = slurm(A, growing(60, minutes=LONG), steady(1, minutes=LONG))
OUTAGE_FROM_10 = slurm(
    A,
    f"{growing(60, minutes=10)} {steady(600, minutes=LONG - 10)}",
    f"{steady(1, minutes=10)} {steady(0, minutes=LONG - 10)}",
)


@dataclass(frozen=True)
class Case:
    """What is told of `alert` at minute `at`: `fires` are the labels beside its severity; None: silence."""

    alert: str
    why: str
    _: KW_ONLY
    series: Mapping[str, str]
    at: float
    fires: Mapping[str, str] | None = None
    leaders: Mapping[str, str] = field(default_factory=lambda: LEADERS)


def restarted(values_before: str, values_after: str) -> str:
    """The instance restarts at minute 20 and is not scraped for a minute."""
    return f"{values_before} {missing(1)} {values_after}"


CASES = (
    Case("K8sBridgeAbsent", "nothing is scraped", series={}, leaders={}, at=6, fires={}),
    Case("K8sBridgeAbsent", "a standby is there", series={}, leaders={f"k8s_bridge_leader{{{B}}}": "0x20"},
         at=9),
    Case("K8sBridgeAbsent", "Prometheus began before it", series={}, at=6,
         leaders={f"k8s_bridge_leader{{{A}}}": f"{missing(4)} {steady(1, minutes=9)}"}),
    Case("K8sBridgeAbsent", "it went away at minute 5", series={}, at=16, fires={},
         leaders={f"k8s_bridge_leader{{{A}}}": f"{steady(1, minutes=5)} stale"}),
    Case("K8sBridgeNotLeading", "two standbys", series={}, at=3,
         leaders={f"k8s_bridge_leader{{{one}}}": "0x20" for one in (A, B)},
         fires={"job": "k8s-bridge", "namespace": "platform"}),
    Case("K8sBridgeNotLeading", "one leads and one stands by", series={}, at=60),
    Case("K8sBridgeNotLeading", "the leader changes in a minute", series={}, at=11,
         leaders={f"k8s_bridge_leader{{{A}}}": "1x18 0x40", f"k8s_bridge_leader{{{B}}}": "0x20 1x40"}),
    Case("K8sBridgeNotLeading", "it starts, and leads in a minute", series={}, at=3,
         leaders={f"k8s_bridge_leader{{{A}}}": "0x1 1x20"}),
    Case("K8sBridgeSlurmAnswerOld", "healthy", series=HEALTHY, at=60),
    Case("K8sBridgeSlurmAnswerOld", "it starts, and connects in a minute", at=4,
         series=slurm(A, "0x1 60+30x20", "0x1 1x20")),
    Case("K8sBridgeSlurmAnswerOld", "an outage of 6 minutes", series=OUTAGE_FROM_10, at=16, fires=BRIDGE),
    Case("K8sBridgeSlurmAnswerOld", "an outage of 2 minutes", series=OUTAGE_FROM_10, at=12),
    Case("K8sBridgeSlurmAnswerOld", "an outage of an hour", series=OUTAGE_FROM_10, at=70, fires=BRIDGE),
    *(
        Case("K8sBridgeSlurmAnswerOld", f"the bridge was restarted in the outage: minute {at}", at=at,
             fires=BRIDGE,
             series=slurm(A, restarted("0+30x10 300x29", "0x60"), restarted("1x10 0x29", "0x60")))
        for at in (20, 20.5, 21, 22, 24, 40)
    ),
    *(
        Case("K8sBridgeSlurmAnswerOld", f"the leader changed in the outage: minute {at}", at=at, fires=BRIDGE,
             leaders={f"k8s_bridge_leader{{{A}}}": "1x39 0x60", f"k8s_bridge_leader{{{B}}}": "0x41 1x60"},
             series=OUTAGE_FROM_10 | slurm(B, "0+30x20 600x200", "1x20 0x200"))
        for at in (19, 20, 20.5, 21, 22, 40)
    ),
    Case("K8sBridgeSlurmAnswerOld", "it is over when Slurm answers again", at=40,
         series=slurm(A, "0+30x10 300x29 1200+30x90", "1x10 0x29 1x90")),
    Case("K8sBridgeSlurmAnswerOld", "only the standby does not reach Slurm", at=60,
         series=HEALTHY | slurm(B, steady(0, minutes=LONG), steady(0, minutes=LONG))),
    Case("K8sBridgeSlurmAnswerOld", "it polls every 10 minutes only", at=9,
         series=slurm(A, steady(0, minutes=10), steady(1, minutes=10))),
    Case("K8sBridgeBlocked", "a source is never synced", at=11, fires=BRIDGE,
         series=slurm(A, growing(60, minutes=LONG), steady(0, minutes=LONG))),
    Case("K8sBridgeBlocked", "it works", at=60, series=HEALTHY),
    Case("K8sBridgeBlocked", "it lists for five minutes at its start", at=12,
         series=slurm(A, growing(60, minutes=LONG), "0x10 1x120")),
    Case("K8sBridgeBlocked", "Slurm is away, which has an alert of its own", at=60, series=OUTAGE_FROM_10),
    Case("K8sBridgeBlocked", "only the standby is blocked", at=60,
         series=HEALTHY | slurm(B, growing(60, minutes=LONG), steady(0, minutes=LONG))),
    Case("K8sBridgeTokenExpires", "half an hour is left", at=90 + 6, fires=BRIDGE,
         series=of(A, "token_expiry_timestamp_seconds", steady(7200, minutes=LONG))),
    Case("K8sBridgeTokenExpires", "it has expired", at=LONG - 1, fires=BRIDGE,
         series=of(A, "token_expiry_timestamp_seconds", steady(5000, minutes=LONG))),
    Case("K8sBridgeTokenExpires", "two hours are left", at=30,
         series=of(A, "token_expiry_timestamp_seconds", steady(9000, minutes=LONG))),
    Case("K8sBridgeTokenExpires", "it never expires", at=90, series=HEALTHY),
    Case("K8sBridgeTokenExpires", "it was renewed", at=80,
         series=of(A, "token_expiry_timestamp_seconds", "7200x124 90000x100")),
    Case("K8sBridgeProvisioningStuck", "one job for 11 minutes", at=11, fires=BRIDGE,
         series=of(A, "oldest_unit_age_seconds", growing(60, minutes=15), 'state="Admitted"')),
    Case("K8sBridgeProvisioningStuck", "its quota was given back, and it is tried again", at=20, fires=BRIDGE,
         series=of(A, "oldest_unit_age_seconds", f"{growing(60, minutes=15)} 0+30x20", 'state="Admitted"')),
    Case("K8sBridgeProvisioningStuck", "many jobs, none for long", at=60,
         series=of(A, "oldest_unit_age_seconds", steady(45, minutes=LONG), 'state="Admitted"')),
    Case("K8sBridgeProvisioningStuck", "an old job waits for quota", at=60,
         series=of(A, "oldest_unit_age_seconds", growing(60, minutes=LONG), 'state="Queued"')),
    Case("K8sBridgeProvisioningStuck", "a standby remembers one from when it led", at=60,
         series=of(B, "oldest_unit_age_seconds", growing(60, minutes=LONG), 'state="Admitted"')),
    Case("K8sBridgeGhostNodes", "two for 20 minutes", at=20, fires=BRIDGE,
         series=of(A, "ghost_nodes", steady(2, minutes=LONG))),
    Case("K8sBridgeGhostNodes", "jobs end all the time", at=60,
         series=of(A, "ghost_nodes", " ".join(["1x3 0x1"] * 40))),
    Case("K8sBridgeGhostNodes", "at a start, before they were deleted", at=10,
         series=of(A, "ghost_nodes", "3x2 0x60")),
    Case("K8sBridgeGhostNodes", "a standby has not listed its JobSets", at=60,
         series=of(A, "ghost_nodes", "0x120") | of(B, "ghost_nodes", "5x120")),
    Case("K8sBridgeDeletionsRefused", "the guard refuses", at=10, fires=BRIDGE,
         series=of(A, "deletions_refused", "0x19 1x60")),
    Case("K8sBridgeDeletionsRefused", "nothing is suspicious", at=60,
         series=of(A, "deletions_refused", steady(0, minutes=LONG))),
    Case("K8sBridgeDeletionsRefused", "it is over", at=20,
         series=of(A, "deletions_refused", "0x9 1x10 0x60")),
    Case("K8sBridgeDeletionsRefused", "on a standby", at=20, series=of(B, "deletions_refused", "1x60")),
    *(
        Case("K8sBridgeMisconfigured", f"{kind} is False", at=10, fires=BRIDGE | {"type": kind},
             series=of(A, "condition", steady(0, minutes=LONG), f'type="{kind}"'))
        for kind in ("QueuesValid", "PriorityClassesValid", "TopologyValid", "TemplateValid")
    ),
    Case("K8sBridgeMisconfigured", "everything is found", at=60,
         series=of(A, "condition", steady(1, minutes=LONG), 'type="QueuesValid"')),
    Case("K8sBridgeMisconfigured", "Slurm is away, which has an alert of its own", at=60,
         series=of(A, "condition", steady(0, minutes=LONG), 'type="SlurmReachable"')
         | of(A, "condition", steady(0, minutes=LONG), 'type="Ready"')),
    Case("K8sBridgeMisconfigured", "no conflict is a condition at 0", at=60,
         series=of(A, "condition", steady(0, minutes=LONG), 'type="Conflicting"')),
    Case("K8sBridgeMisconfigured", "a queue is made again within 4 minutes", at=9,
         series=of(A, "condition", "1x9 0x7 1x60", 'type="QueuesValid"')),
    Case("K8sBridgeMisconfigured", "on a standby", at=60,
         series=of(B, "condition", steady(0, minutes=LONG), 'type="QueuesValid"')),
    Case("K8sBridgeErrors", "a third fails", at=30, fires=BRIDGE,
         series=of(A, "effects_total", growing(6, minutes=LONG), 'effect="TakeHold", result="done"')
         | of(A, "effects_total", growing(3, minutes=LONG), 'effect="TakeHold", result="retry"')),
    Case("K8sBridgeErrors", "everything fails", at=30, fires=BRIDGE,
         series=of(A, "effects_total", growing(3, minutes=LONG), 'effect="TakeHold", result="terminal"')),
    Case("K8sBridgeErrors", "one in twenty fails", at=60,
         series=of(A, "effects_total", growing(19, minutes=LONG), 'effect="TakeHold", result="done"')
         | of(A, "effects_total", growing(1, minutes=LONG), 'effect="TakeHold", result="bug"')),
    Case("K8sBridgeErrors", "two of three on a quiet day", at=60,
         series=of(A, "effects_total", growing(0.1, minutes=LONG), 'effect="TakeHold", result="done"')
         | of(A, "effects_total", growing(0.2, minutes=LONG), 'effect="TakeHold", result="retry"')),
    Case("K8sBridgeErrors", "conflicts and what was stale are no errors", at=60,
         series=of(A, "effects_total", growing(1, minutes=LONG), 'effect="TakeHold", result="done"')
         | of(A, "effects_total", growing(5, minutes=LONG), 'effect="TakeHold", result="conflict"')
         | of(A, "effects_total", growing(5, minutes=LONG), 'effect="TakeHold", result="stale"')),
    Case("K8sBridgeErrors", "nothing is done at all", at=60,
         series=of(A, "effects_total", steady(7, minutes=LONG), 'effect="TakeHold", result="retry"')),
    Case("K8sBridgeWedged", "it hangs", at=11, fires=BRIDGE, series=of(A, "wedged", "0x20 1x20")),
    Case("K8sBridgeWedged", "it hung, and kubelet has restarted it", at=14, fires=BRIDGE,
         series=of(A, "wedged", f"0x20 1x0 {missing(1)} 0x60")),
    Case("K8sBridgeWedged", "that is a while ago", at=25, series=of(A, "wedged", "0x20 1x1 0x60")),
    Case("K8sBridgeWedged", "it works", at=60, series=of(A, "wedged", steady(0, minutes=LONG))),
    Case("K8sBridgeRequeueStorm", "two of three starts end in a requeue", at=60, fires=BRIDGE,
         series=of(A, "requeues_total", growing(2, minutes=LONG), 'queue="q", cause="Evicted"')
         | of(A, "verdicts_total", growing(3, minutes=LONG), 'state="Running"')),
    Case("K8sBridgeRequeueStorm", "nothing even starts", at=60, fires=BRIDGE,
         series=of(A, "requeues_total", growing(2, minutes=LONG), 'queue="q", cause="Lost"')),
    Case("K8sBridgeRequeueStorm", "a tenth is preempted on a busy day", at=60,
         series=of(A, "requeues_total", growing(3, minutes=LONG), 'queue="q", cause="Evicted"')
         | of(A, "verdicts_total", growing(30, minutes=LONG), 'state="Running"')),
    Case("K8sBridgeRequeueStorm", "three jobs were preempted for one large one", at=60,
         series=of(A, "requeues_total", "0x60 3x60", 'queue="q", cause="Evicted"')
         | of(A, "verdicts_total", "3x120", 'state="Running"')),
    Case("K8sBridgeRequeueStorm", "no job was ever requeued", at=60, series=HEALTHY),
    Case("K8sBridgeNotLeading", "two standbys of the Ray bridge, beside a Slurm bridge that is led", at=3,
         series={f"ray_bridge_leader{{{of_ray(one)}}}": "0x20" for one in (A, B)},
         fires={"job": "k8s-bridge-ray", "namespace": "platform"}),
    Case("K8sBridgeBlocked", "a source of the Ray bridge is never synced", at=11, fires=RAY_BRIDGE,
         series=HEALTHY | ray_leads() | ray("synced", steady(0, minutes=LONG))),
    Case("K8sBridgeBlocked", "both work", at=60,
         series=HEALTHY | ray_leads() | ray("synced", steady(1, minutes=LONG))),
    Case("K8sBridgeMisconfigured", "the Ray bridge finds no cluster", at=10,
         fires=RAY_BRIDGE | {"type": "RayReady"},
         series=ray_leads() | ray("condition", steady(0, minutes=LONG), 'type="RayReady"')),
    Case("K8sBridgeMisconfigured", "the Ray bridge finds all", at=60,
         series=ray_leads() | ray("condition", steady(1, minutes=LONG), 'type="RayReady"')),
    Case("K8sBridgeErrors", "everything that the Ray bridge does fails", at=30, fires=RAY_BRIDGE,
         series=ray("effects_total", growing(3, minutes=LONG), 'effect="Release", result="terminal"')),
    Case("K8sBridgeWedged", "the Ray bridge hangs", at=11, fires=RAY_BRIDGE,
         series=ray("wedged", "0x20 1x20")),
    Case("RayBridgeAbsent", "nothing of it is scraped, though the Slurm bridge is", series=HEALTHY, at=6,
         fires={}),
    Case("RayBridgeAbsent", "it leads", series=ray_leads(), at=60),
    Case("RayBridgeLeak", "an intruder is found at every look", at=10, fires=RAY_BRIDGE | {"direction": "in"},
         series=ray("leaks_total", f"{missing(4)} {growing(3, minutes=LONG, start=1)}", 'direction="in"')),
    Case("RayBridgeLeak", "it was stopped a quarter of an hour ago", at=30,
         series=ray("leaks_total", f"{growing(3, minutes=10)} {steady(30, minutes=LONG)}", 'direction="in"')),
    Case("RayBridgeLeak", "there is no Ray bridge", at=60, series=HEALTHY),
)  # fmt: skip
