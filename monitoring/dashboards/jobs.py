"""What becomes of jobs, which guards hold, and the quota behind it: rows of the operator's dashboard."""

from __future__ import annotations

from monitoring.dashboards.model import Panel, Query, Row, Shape, Unit
from monitoring.dashboards.queries import BRIDGE, MIXING, each, ours, percentiles, rates
from monitoring.promql import leading, metric, per_second, quantile


def _by_flavor(name: str) -> str:
    return each("max", ours(name), "cluster_queue", "flavor", "resource")


LIFE = Row(
    title="Life of a job",
    panels=(
        Panel(
            title="Units by state",
            tells="Jobs and slots of job arrays. Queued waits for quota; states from Admitted on pass.",
            queries=(Query(each("sum", ours("units"), "state"), "{{state}}"),),
            stacked="normal",
        ),
        Panel(
            title="Stages, median",
            tells="admission_wait is Kueue's, provision the cluster's, release the bridge's, start Slurm's.",
            queries=(
                Query(quantile(0.5, "stage_duration_seconds", "stage", workloadmixing=MIXING), "{{stage}}"),
            ),
            unit=Unit.SECONDS,
        ),
        Panel(
            title="Stages, 95th percentile",
            tells="The slow ones.",
            queries=(
                Query(quantile(0.95, "stage_duration_seconds", "stage", workloadmixing=MIXING), "{{stage}}"),
            ),
            unit=Unit.SECONDS,
        ),
        Panel(
            title="Oldest unit by state",
            tells="Admitted for 10 minutes: pods do not become nodes. Running and Queued may be old.",
            queries=(
                Query(
                    each("max", leading(ours("oldest_unit_age_seconds", state="!~Running|Queued")), "state"),
                    "{{state}}",
                ),
            ),
            unit=Unit.SECONDS,
            alert="K8sBridgeProvisioningStuck",
        ),
        Panel(
            title="From first sight to release",
            tells="How long people wait for a start: mostly quota.",
            queries=percentiles("job_release_latency_seconds", BRIDGE),
            unit=Unit.SECONDS,
        ),
        Panel(
            title="JobSets",
            tells="Made and given back; errors are refusals by the API server, a webhook or a ResourceQuota.",
            queries=(
                Query(f"sum({per_second(ours('jobsets_created_total'))})", "created"),
                Query(f"sum({per_second(ours('jobsets_deleted_total'))})", "deleted"),
                Query(f"sum({per_second(ours('jobset_create_errors_total'))})", "errors"),
            ),
            unit=Unit.PER_SECOND,
        ),
    ),
)

GUARDS = Row(
    title="Safety guards",
    panels=(
        Panel(
            title="Deletions refused",
            tells="Yes: Slurm suddenly knows none of many jobs, and nothing is deleted.",
            queries=(Query(each("max", leading(ours("deletions_refused")), BRIDGE), "{{workloadmixing}}"),),
            shape=Shape.NUMBER,
            unit=Unit.YES_NO,
            alert="K8sBridgeDeletionsRefused",
        ),
        Panel(
            title="Ghost nodes",
            tells="Slurm nodes of ours whose JobSet is gone. Well at 0.",
            queries=(Query(each("max", leading(ours("ghost_nodes")), BRIDGE), "{{workloadmixing}}"),),
            shape=Shape.NUMBER,
            alert="K8sBridgeGhostNodes",
        ),
        Panel(
            title="Quarantined",
            tells="Items of Slurm's answers that could not be read and are left out. Well at 0.",
            queries=(Query(each("max", leading(ours("quarantined_items")), BRIDGE, "source"), "{{source}}"),),
            shape=Shape.NUMBER,
        ),
        Panel(
            title="Wedged",
            tells="Yes: the loop hangs; kubelet restarts the container.",
            queries=(Query(each("max", ours("wedged"), BRIDGE), "{{workloadmixing}}"),),
            shape=Shape.NUMBER,
            unit=Unit.YES_NO,
            alert="K8sBridgeWedged",
        ),
        Panel(
            title="Jobs failed by the bridge",
            tells="In the last hour, after requeueLimit or by policy.",
            queries=(Query(f"sum(increase({ours('jobs_failed_total')}[1h]))", "jobs"),),
            shape=Shape.NUMBER,
        ),
        Panel(
            title="Malformed objects",
            tells="Of the Kubernetes API, left out in the last hour. Well at 0.",
            queries=(
                Query(f"sum(increase({metric('kube_malformed_objects_total')}[1h])) or vector(0)", "objects"),
            ),
            shape=Shape.NUMBER,
        ),
        Panel(
            title="Requeues by cause",
            tells="Evicted: Kueue took the quota back. Lost: pods or nodes went.",
            queries=(Query(rates("requeues_total", "cause"), "{{cause}}"),),
            unit=Unit.PER_SECOND,
            alert="K8sBridgeRequeueStorm",
        ),
        Panel(
            title="Effects by result",
            tells="stale and conflict are guards at work: what an effect rested on had changed. bug is ours.",
            queries=(Query(rates("effects_total", "result"), "{{result}}"),),
            unit=Unit.PER_SECOND,
            alert="K8sBridgeErrors",
        ),
        Panel(
            title="Exceptions in decide",
            tells="A bug: that unit stands still, the others do not. Well at 0.",
            queries=(Query(rates("undecided_total", "result"), "{{result}}"),),
            unit=Unit.PER_SECOND,
            alert="K8sBridgeErrors",
        ),
    ),
)

KUEUE = Row(
    title="Kueue",
    panels=(
        Panel(
            title="Quota in use",
            tells="Of each ClusterQueue's nominal quota, by all its LocalQueues; beyond 100 % is borrowed.",
            queries=(
                Query(
                    f"{_by_flavor('cluster_queue_reserved')} / ({_by_flavor('cluster_queue_quota')} > 0)",
                    "{{cluster_queue}} {{flavor}} {{resource}}",
                ),
            ),
            unit=Unit.SHARE,
        ),
        Panel(
            title="Waiting Workloads",
            tells="By LocalQueue, Slurm's and others.",
            queries=(Query(each("max", ours("local_queue_pending_workloads"), "queue"), "{{queue}}"),),
        ),
        Panel(
            title="Admitted Workloads",
            tells="By LocalQueue, Slurm's and others.",
            queries=(Query(each("max", ours("local_queue_admitted_workloads"), "queue"), "{{queue}}"),),
        ),
    ),
)
