"""Dashboards as data, and the JSON that Grafana reads. What is shown is elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from monitoring.alerts import ALERTS, RUNBOOKS

_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH, _ROW_HEIGHT = 24, 1
_SCHEMA = 39
_ANCHORS = {alert.name: alert.anchor for alert in ALERTS}


class Shape(StrEnum):
    """How a panel is drawn; the value is Grafana's name of the plugin."""

    GRAPH = "timeseries"
    NUMBER = "stat"
    BARS = "bargauge"


class Unit(StrEnum):
    """Grafana's names of units."""

    NONE = "short"
    SECONDS = "s"
    BYTES = "bytes"
    BYTES_PER_SECOND = "Bps"
    PER_SECOND = "ops"
    SHARE = "percentunit"
    YES_NO = "bool_yes_no"


_SIZES = {Shape.GRAPH: (8, 8), Shape.NUMBER: (4, 4), Shape.BARS: (8, 8)}
"""Width and height on Grafana's grid of 24 columns."""


@dataclass(frozen=True, slots=True)
class Query:
    """One expression; `legend` names its series by their labels, as `{{state}}`."""

    expression: str
    legend: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel. `tells` says what is well and what is not; `alert` leads to its runbook."""

    title: str
    tells: str
    queries: tuple[Query, ...]
    shape: Shape = Shape.GRAPH
    unit: Unit = Unit.NONE
    stacked: str = "none"
    alert: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Panels that belong together."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A choice at the top: the values that `label` has on `metric`."""

    name: str
    title: str
    metric: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """One dashboard; `name` is its file's."""

    name: str
    title: str
    tells: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All of them, in order."""
        return tuple(panel for row in self.rows for panel in row.panels)


def document(dashboard: Dashboard) -> dict[str, Any]:
    """What Grafana imports."""
    return {
        "uid": f"k8s-bridge-{dashboard.name}",
        "title": dashboard.title,
        "description": dashboard.tells,
        "tags": ["k8s-bridge"],
        "schemaVersion": _SCHEMA,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "links": [{"type": "link", "title": "Runbooks", "url": RUNBOOKS, "icon": "doc", "targetBlank": True}],
        "templating": {"list": [_datasource(), *map(_variable, dashboard.variables)]},
        "panels": list(_panels(dashboard)),
    }


def _datasource() -> dict[str, Any]:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _variable(variable: Variable) -> dict[str, Any]:
    query = f"label_values({variable.metric}, {variable.label})"
    return {
        "name": variable.name,
        "label": variable.title,
        "type": "query",
        "datasource": _DATASOURCE,
        "definition": query,
        "query": {"query": query, "refId": variable.name},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _panels(dashboard: Dashboard) -> Iterator[dict[str, Any]]:
    """Rows from top to bottom, panels from left to right; a panel that has no room begins a new line."""
    number, top = 0, 0
    for row in dashboard.rows:
        number += 1
        place = {"x": 0, "y": top, "w": _WIDTH, "h": _ROW_HEIGHT}
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "gridPos": place,
            "panels": [],
        }
        left, top, line = 0, top + _ROW_HEIGHT, 0
        for panel in row.panels:
            width, height = _SIZES[panel.shape]
            if left + width > _WIDTH:
                left, top, line = 0, top + line, 0
            number += 1
            yield _panel(panel, number, {"x": left, "y": top, "w": width, "h": height})
            left, line = left + width, max(line, height)
        top += line


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    custom = {"stacking": {"mode": panel.stacked}, "fillOpacity": 10, "showPoints": "never"}
    return {
        "id": number,
        "type": panel.shape.value,
        "title": panel.title,
        "description": panel.tells,
        "gridPos": place,
        "datasource": _DATASOURCE,
        "links": _links(panel),
        "fieldConfig": {
            "defaults": {"unit": panel.unit.value}
            | ({"custom": custom} if panel.shape is Shape.GRAPH else {}),
            "overrides": [],
        },
        "options": _options(panel.shape),
        "targets": [_target(query, index) for index, query in enumerate(panel.queries)],
    }


def _links(panel: Panel) -> list[dict[str, Any]]:
    if not panel.alert:
        return []
    url = f"{RUNBOOKS}#{_ANCHORS[panel.alert]}"
    return [{"title": f"Runbook: {panel.alert}", "url": url, "targetBlank": True}]


def _options(shape: Shape) -> dict[str, Any]:
    if shape is Shape.GRAPH:
        legend = {"displayMode": "list", "placement": "bottom", "showLegend": True}
        return {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}}
    last = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    return {"reduceOptions": last, "orientation": "auto" if shape is Shape.NUMBER else "horizontal"}


def _target(query: Query, index: int) -> dict[str, Any]:
    return {
        "refId": chr(ord("A") + index),
        "datasource": _DATASOURCE,
        "expr": query.expression,
        "legendFormat": query.legend or "__auto",
        "range": True,
    }
