"""The bridge as a client of Kubernetes and as a process: the last rows of the operator's dashboard."""

from __future__ import annotations

from monitoring.dashboards.model import Panel, Query, Row, Unit
from monitoring.promql import metric, per_second, quantile

KUBERNETES = Row(
    title="Kubernetes API",
    panels=(
        Panel(
            title="Requests by code",
            tells="409 is a conflict, read again at once; 429 is the API server asking for patience.",
            queries=(
                Query(
                    f"sum by (method, code) ({per_second(metric('kube_requests_total'))})",
                    "{{method}} {{code}}",
                ),
            ),
            unit=Unit.PER_SECOND,
        ),
        Panel(
            title="Time of a request",
            tells="99th percentile; a watch counts until it has begun.",
            queries=(Query(quantile(0.99, "kube_request_duration_seconds", "method"), "{{method}}"),),
            unit=Unit.SECONDS,
        ),
        Panel(
            title="Trouble",
            tells="Watches that broke (a few an hour are normal), failed lease writes, events not written.",
            queries=(
                Query(f"sum({per_second(metric('kube_reflector_errors_total'))}) or vector(0)", "watches"),
                Query(f"sum({per_second(metric('kube_lease_errors_total'))})", "lease"),
                Query(f"sum({per_second(metric('kube_events_dropped_total'))})", "events"),
            ),
            unit=Unit.PER_SECOND,
        ),
    ),
)


def process(instances: str) -> Row:
    """The process of each instance; `instances` is an expression that has exactly their job and instance."""

    def of(expression: str) -> tuple[Query, ...]:
        return (Query(f"{expression} and on (job, instance) {instances}", "{{instance}}"),)

    return Row(
        title="Process",
        panels=(
            Panel(
                title="Work queue",
                tells="ready stays near 0; thousands of delayed are jobs that wait.",
                queries=(
                    Query(f"sum by (kind) ({metric('queue_depth', workloadmixing='~$mixing')})", "{{kind}}"),
                ),
            ),
            Panel(title="CPU", tells="In cores.", queries=of(per_second("process_cpu_seconds_total"))),
            Panel(
                title="Memory",
                tells="20,000 held jobs take 150 MiB.",
                queries=of("process_resident_memory_bytes"),
                unit=Unit.BYTES,
            ),
        ),
    )
