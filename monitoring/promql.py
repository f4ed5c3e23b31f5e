"""The few shapes of PromQL that alerts and dashboards are made of. Text in, text out."""

from __future__ import annotations

from collections.abc import Callable

PREFIX, RAY = "k8s_bridge_", "ray_bridge_"
"""What metrics of the Slurm bridge and of the Ray bridge begin with; the rest of their names is the same."""
BRIDGE = "job, namespace, workloadmixing"
"""What tells bridges apart, whichever instance leads. Prometheus adds job, its operator adds namespace."""


def metric(name: str, *, prefix: str = PREFIX, **labels: str) -> str:
    """One metric of ours; a label's value may begin with `~` (matches), `!~` (does not) or `!` (differs)."""
    matchers = ", ".join(_matcher(label, value) for label, value in labels.items())
    return f"{prefix}{name}{{{matchers}}}" if matchers else f"{prefix}{name}"


def leading(expression: str, *, prefix: str = PREFIX) -> str:
    """What the instance that holds the lease says: a standby's view of the world must wake nobody."""
    return f"{expression} and on (job, instance) {metric('leader', prefix=prefix)} == 1"


def of_either(shape: Callable[[str], str]) -> str:
    """The same of the Slurm bridge and of the Ray bridge; `shape` is told what their metrics begin with."""
    return " or ".join(map(shape, (PREFIX, RAY)))


def by_bridge(function: str, expression: str, *more: str) -> str:
    """`function` (max, sum …) over the instances of each bridge; `more` are labels to keep."""
    return f"{function} by ({', '.join((BRIDGE, *more))}) ({expression})"


def _matcher(label: str, value: str) -> str:
    for sign, operator in (("!~", "!~"), ("~", "=~"), ("!", "!=")):
        if value.startswith(sign):
            return f'{label}{operator}"{value.removeprefix(sign)}"'
    return f'{label}="{value}"'


def per_second(expression: str) -> str:
    """How fast a counter grows, over a time that fits the graph."""
    return f"rate({expression}[$__rate_interval])"


def quantile(share: float, histogram: str, *by: str, **labels: str) -> str:
    """A quantile of a histogram of ours, `by` some of its labels."""
    buckets = per_second(metric(f"{histogram}_bucket", **labels))
    return f"histogram_quantile({share}, sum by ({', '.join(('le', *by))}) ({buckets}))"
