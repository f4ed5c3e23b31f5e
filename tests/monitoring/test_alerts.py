"""Each alert fires for its cause, and is silent when all is well, at a start, on a standby."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.alert_cases import CASES, SEVERITY
from support.families import of_both_bridges
from support.promtool import check_rules, firing

from monitoring.alerts import ALERTS, RUNBOOKS, Severity, rules


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}: {case.why}")
def test_an_alert_fires_for_its_cause_and_for_nothing_else(case, tmp_path):
    expected = [] if case.fires is None else [{**case.fires, "severity": SEVERITY[case.alert]}]
    series = {**case.leaders, **case.series}
    assert not firing(tmp_path, rules(), series, alert=case.alert, at=case.at, expected=expected)


def test_every_alert_has_cases_of_both_kinds():
    told = {
        alert.name: {case.fires is None for case in CASES if case.alert == alert.name} for alert in ALERTS
    }
    assert told == {alert.name: {True, False} for alert in ALERTS}


def test_promtool_finds_no_fault(tmp_path):
    assert not check_rules(tmp_path, rules())


def test_people_are_told_what_it_is_and_what_to_do():
    found: list[dict[str, Any]] = rules()["groups"][0]["rules"]
    assert {rule["labels"]["severity"] for rule in found} == {severity.value for severity in Severity}
    for rule in found:
        assert rule["annotations"]["summary"].endswith(".")
        assert rule["annotations"]["runbook_url"] == f"docs/runbooks.md#{rule['alert'].lower()}"


def test_every_alert_has_its_section_in_the_runbooks_and_no_section_is_left_over():
    page = (Path(__file__).parents[2] / RUNBOOKS).read_text()
    names = [alert.name for alert in ALERTS]
    assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == names
    assert re.findall(r"^\| (\w+) \| .* s \|", page, re.MULTILINE) == names, "how each was fired"


def test_alerts_rest_on_metrics_and_labels_that_exist():
    families = of_both_bridges()
    for alert in ALERTS:
        used = re.findall(r"((?:k8s|ray)_bridge_\w+)(?:\{([^}]*)\})?", alert.expression)
        assert used
        for series, matchers in used:
            assert series in families, f"{alert.name} asks for {series}"
            assert set(re.findall(r"(\w+)(?==|!)", matchers)) <= set(families[series].labels), alert.name
