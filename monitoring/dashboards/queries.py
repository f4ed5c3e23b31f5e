"""Expressions of the operator's dashboard: of the WorkloadMixings that are chosen at its top."""

from __future__ import annotations

from monitoring.dashboards.model import Query
from monitoring.promql import metric, per_second, quantile

MIXING = "~$mixing"
BRIDGE = "workloadmixing"


def ours(name: str, **labels: str) -> str:
    """A metric of ours."""
    return metric(name, workloadmixing=MIXING, **labels)


def each(function: str, expression: str, *labels: str) -> str:
    """`function` over everything but `labels`."""
    return f"{function} by ({', '.join(labels)}) ({expression})"


def rates(name: str, *labels: str) -> str:
    """How fast a counter of ours grows, by `labels`."""
    return each("sum", per_second(ours(name)), *labels)


def percentiles(histogram: str, label: str) -> tuple[Query, ...]:
    """Median and slowest hundredth of a histogram of ours, by one label."""
    return tuple(
        Query(quantile(share, histogram, label, workloadmixing=MIXING), f"p{share * 100:.0f} {{{{{label}}}}}")
        for share in (0.5, 0.99)
    )
