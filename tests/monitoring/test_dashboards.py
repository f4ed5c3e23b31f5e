"""Every panel asks for what exists, in PromQL that parses, and its links lead to a runbook."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.families import of_both_bridges
from support.promtool import check_rules

from monitoring.dashboards import DASHBOARDS, document
from monitoring.dashboards.model import Variable

ROOT = Path(__file__).parents[2]
FAMILIES = of_both_bridges()
OF_THE_PROCESS = {"process_cpu_seconds_total", "process_resident_memory_bytes"}
OF_THE_TARGET = {"job", "instance", "namespace"}
PANELS = [
    pytest.param(panel, dashboard, id=f"{dashboard.name}: {panel.title}")
    for dashboard in DASHBOARDS
    for panel in dashboard.panels
]


def plain(expression: str) -> str:
    """Without Grafana's variables."""
    return re.sub(r"\$(mixing|queue)", ".*", expression.replace("$__rate_interval", "5m"))


def series(expression: str) -> set[str]:
    return set(re.findall(r"\b(?:k8s_bridge|ray_bridge|process)_\w+", expression))


def labels(name: str) -> set[str]:
    return OF_THE_TARGET | ({"le", *FAMILIES[name].labels} if name in FAMILIES else set())


@pytest.mark.parametrize(("panel", "dashboard"), PANELS)
def test_metrics_and_labels_of_a_panel_exist(panel, dashboard):
    assert panel.queries
    for query in panel.queries:
        named = series(query.expression)
        assert named
        assert named <= FAMILIES.keys() | OF_THE_PROCESS
        for name, matchers in re.findall(r"((?:k8s|ray)_bridge_\w+)\{([^}]*)\}", query.expression):
            assert set(re.findall(r'(\w+)(?:=~|!~|!=|=)"', matchers)) <= labels(name), name
        known = set.union(*map(labels, named))
        kept = {
            word
            for part in re.findall(r"(?:by|on) \(([^)]*)\)", query.expression)
            for word in part.split(", ")
        }
        assert kept <= known
        assert set(re.findall(r"\{\{(\w+)\}\}", query.legend)) <= kept | OF_THE_TARGET


@pytest.mark.parametrize(("panel", "dashboard"), PANELS)
def test_a_panel_uses_only_variables_that_the_dashboard_has(panel, dashboard):
    known = {variable.name for variable in dashboard.variables} | {"__rate_interval"}
    for query in panel.queries:
        assert set(re.findall(r"\$(\w+)", query.expression)) <= known


def test_every_expression_parses(tmp_path):
    queries = [query for found in DASHBOARDS for panel in found.panels for query in panel.queries]
    rules = [{"record": f"panel:{n}", "expr": plain(query.expression)} for n, query in enumerate(queries)]
    assert not check_rules(tmp_path, {"groups": [{"name": "panels", "rules": rules}]})


def choices(variable: Variable) -> bool:
    family = FAMILIES[variable.metric]
    return variable.label in family.labels


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda found: found.name)
def test_a_dashboard_can_be_used_with_any_prometheus(dashboard):
    made = document(dashboard)
    first, *others = made["templating"]["list"]
    assert (first["name"], first["type"], first["query"]) == ("datasource", "datasource", "prometheus")
    assert all(map(choices, dashboard.variables))
    assert [variable["name"] for variable in others] == [variable.name for variable in dashboard.variables]
    for part in (*others, *made["panels"]):
        if part["type"] != "row":
            assert part["datasource"]["uid"] == "${datasource}"
            assert all(target["datasource"]["uid"] == "${datasource}" for target in part.get("targets", ()))


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda found: found.name)
def test_panels_lie_side_by_side_and_say_what_they_mean(dashboard):
    taken: set[tuple[int, int]] = set()
    numbers = []
    for panel in document(dashboard)["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
        numbers.append(panel["id"])
        assert panel["type"] == "row" or panel["description"].endswith(".")
    assert len(set(numbers)) == len(numbers)


def test_links_lead_to_sections_of_the_runbooks():
    page = (ROOT / "docs/runbooks.md").read_text()
    anchors = {title.lower() for title in re.findall(r"^## (\w+)$", page, re.MULTILINE)}
    linked = {
        link["url"].partition("#")[2]
        for dashboard in DASHBOARDS
        for panel in document(dashboard)["panels"]
        for link in panel.get("links", ())
    }
    assert linked
    assert linked <= anchors
