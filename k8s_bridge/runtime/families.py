"""What a metric is called, what it means and how it is labelled. Docs, dashboards and alerts rest on this."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

PREFIX = "k8s_bridge_"
MIXING = "workloadmixing"
"""The label of everything that one bridge tells: `namespace/name`."""


class Kind(StrEnum):
    """As Prometheus has them."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One metric; `name` is without the prefix and, of a counter, without `_total`."""

    name: str
    kind: Kind
    text: str
    labels: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """With the prefix."""
        return PREFIX + self.name

    @property
    def series(self) -> frozenset[str]:
        """The names that a query may use."""
        match self.kind:
            case Kind.COUNTER:
                return frozenset({f"{self.full_name}_total"})
            case Kind.HISTOGRAM:
                return frozenset(f"{self.full_name}_{part}" for part in ("bucket", "sum", "count"))
            case Kind.GAUGE:
                return frozenset({self.full_name})
