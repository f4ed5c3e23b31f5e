"""The Ray bridge, whose metrics are called `ray_bridge_…`: a row of the operator's dashboard."""

from __future__ import annotations

from monitoring.dashboards.model import Panel, Query, Row, Shape, Unit
from monitoring.dashboards.queries import MIXING
from monitoring.promql import RAY as PREFIX
from monitoring.promql import metric, per_second


def _of_ray(name: str) -> str:
    return metric(name, prefix=PREFIX, workloadmixing=MIXING)


RAY = Row(
    title="Ray",
    panels=(
        Panel(
            title="Leaders of the Ray bridge",
            tells="1 for each release that has it.",
            queries=(Query(f"sum({metric('leader', prefix=PREFIX)})", "leaders"),),
            shape=Shape.NUMBER,
        ),
        Panel(
            title="Ray bridge synced",
            tells="Yes: every source is synced, and decisions are made.",
            queries=(Query(f"max by (workloadmixing) ({_of_ray('synced')})", "{{workloadmixing}}"),),
            shape=Shape.NUMBER,
            unit=Unit.YES_NO,
        ),
        Panel(
            title="Inner jobs by state",
            tells="Queued waits for quota; the others pass, but for Running.",
            queries=(Query(f"sum by (state) ({_of_ray('units')})", "{{state}}"),),
            stacked="normal",
        ),
        Panel(
            title="Work off its job's workers",
            tells="Found by the audit at each look. in: somebody else's on a job's workers. Well at 0.",
            queries=(
                Query(
                    f"sum by (direction) ({per_second(_of_ray('leaks_total'))}) or vector(0)", "{{direction}}"
                ),
            ),
            unit=Unit.PER_SECOND,
            alert="RayBridgeLeak",
        ),
        Panel(
            title="Effects of the Ray bridge by result",
            tells="done, or why not; bug is ours.",
            queries=(Query(f"sum by (result) ({per_second(_of_ray('effects_total'))})", "{{result}}"),),
            unit=Unit.PER_SECOND,
        ),
    ),
)
