"""The metrics that alerts and dashboards may ask for."""

from __future__ import annotations

from k8s_bridge.runtime.families import PREFIX, Family
from k8s_bridge.runtime.metrics import Metrics
from k8s_bridge.runtime.product import RAY, SLURM


def of_both_bridges() -> dict[str, Family]:
    """By the names that a query uses; the bridges have the same metrics, each under its own prefix."""
    families = Metrics(lambda: True).families
    return {
        series.replace(PREFIX, product.metrics, 1): family
        for product in (SLURM, RAY)
        for family in families
        for series in family.series
    }
