"""The dashboards: one for who runs the bridge, one for who waits for it."""

from __future__ import annotations

from monitoring.dashboards.model import Dashboard, document
from monitoring.dashboards.operator import OPERATOR
from monitoring.dashboards.researcher import RESEARCHER

DASHBOARDS = (OPERATOR, RESEARCHER)

__all__ = ["DASHBOARDS", "Dashboard", "document"]
