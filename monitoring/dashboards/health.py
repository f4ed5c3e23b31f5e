"""Is it well, and how does Slurm answer: the first rows of the operator's dashboard."""

from __future__ import annotations

from monitoring.dashboards.model import Panel, Query, Row, Shape, Unit
from monitoring.dashboards.queries import BRIDGE, each, ours, percentiles, rates
from monitoring.promql import leading, metric

AGE = f"time() - ({leading(ours('last_successful_tick_timestamp_seconds') + ' > 0')})"

HEALTH = Row(
    title="Health",
    panels=(
        Panel(
            title="Leaders",
            tells="Instances that hold the lease: 1 for each release.",
            queries=(Query(f"sum({metric('leader')})", "leaders"),),
            shape=Shape.NUMBER,
            alert="K8sBridgeNotLeading",
        ),
        Panel(
            title="Instances",
            tells="Instances that are scraped, standbys with them.",
            queries=(Query(f"count({metric('leader')})", "instances"),),
            shape=Shape.NUMBER,
            alert="K8sBridgeAbsent",
        ),
        Panel(
            title="Synced",
            tells="Yes: every source is synced and fresh, and decisions are made.",
            queries=(Query(each("min", leading(ours("synced")), BRIDGE), "{{workloadmixing}}"),),
            shape=Shape.NUMBER,
            unit=Unit.YES_NO,
            alert="K8sBridgeSlurmAnswerOld",
        ),
        Panel(
            title="Age of Slurm's last answer",
            tells="A few seconds while something moves, up to pollInterval when nothing does.",
            queries=(Query(each("max", AGE, BRIDGE), "{{workloadmixing}}"),),
            shape=Shape.NUMBER,
            unit=Unit.SECONDS,
            alert="K8sBridgeSlurmAnswerOld",
        ),
        Panel(
            title="Token is good for",
            tells="Until slurmrestd refuses the token. Nothing is shown for one that never expires.",
            queries=(
                Query(
                    each("min", f"{ours('token_expiry_timestamp_seconds')} - time()", BRIDGE),
                    "{{workloadmixing}}",
                ),
            ),
            shape=Shape.NUMBER,
            unit=Unit.SECONDS,
            alert="K8sBridgeTokenExpires",
        ),
        Panel(
            title="Versions",
            tells="Of the bridge's instances; two of them during an upgrade only.",
            queries=(Query(each("count", metric("build_info"), "version"), "{{version}}"),),
            shape=Shape.NUMBER,
        ),
        Panel(
            title="Conditions",
            tells="1 is True. All but Conflicting are well at 1.",
            queries=(
                Query(each("min", leading(ours("condition")), BRIDGE, "type"), "{{workloadmixing}} {{type}}"),
            ),
            shape=Shape.BARS,
            alert="K8sBridgeMisconfigured",
        ),
        Panel(
            title="Slurm",
            tells="Versions of the Slurm that is bridged.",
            queries=(
                Query(
                    each("max", ours("slurm_info"), "slurm_cluster", "slurm_version", "slurm_api_version"),
                    "{{slurm_cluster}} {{slurm_version}} {{slurm_api_version}}",
                ),
            ),
            shape=Shape.BARS,
        ),
        Panel(
            title="Restarts of a bridge",
            tells="Crashes of one WorkloadMixing's bridge, which the others survive. Well at 0.",
            queries=(
                Query(
                    each("sum", f"increase({ours('bridge_restarts_total')}[1h])", BRIDGE),
                    "{{workloadmixing}}",
                ),
            ),
        ),
    ),
)

SLURM_API = Row(
    title="Slurm API",
    panels=(
        Panel(
            title="Requests by method and code",
            tells="0 is no answer. 5xx: slurmctld behind slurmrestd is away or slow.",
            queries=(Query(rates("slurm_api_requests_total", "method", "code"), "{{method}} {{code}}"),),
            unit=Unit.PER_SECOND,
            alert="K8sBridgeErrors",
        ),
        Panel(
            title="Time of a request",
            tells="Listings of large clusters take seconds on releases before 23.11.",
            queries=percentiles("slurm_request_duration_seconds", "method"),
            unit=Unit.SECONDS,
        ),
        Panel(
            title="Bytes of answers",
            tells="What slurmctld has to write for us.",
            queries=(Query(rates("slurm_response_bytes_total", "method"), "{{method}}"),),
            unit=Unit.BYTES_PER_SECOND,
        ),
    ),
)
