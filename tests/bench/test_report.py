"""A missed budget is said and fails; a budget that nothing is measured for cannot hide."""

from __future__ import annotations

import sys

import pytest

from bench import __main__ as program
from bench.bridge import OURS, expand
from bench.report import Result, budgets, lines, table
from bench.units import NOW, units
from k8s_bridge.slurm.decide import decide

RESULT = Result(scenario="s", measured={"s.fast_ms": 1.0, "s.slow_ms": 9.0, "s.other": 3.0})


def test_the_table_says_which_budgets_were_kept():
    found = lines([RESULT], most={"s.fast_ms": 2, "s.slow_ms": 2, "t.x": 1})
    assert [(line.name, line.missed) for line in found] == [
        ("s.fast_ms", False),
        ("s.slow_ms", True),
        ("s.other", False),
    ]
    rows = table(found).splitlines()
    assert rows[1].endswith("ok")
    assert rows[2].endswith("<= 2  MISSED")
    assert rows[3].endswith("3")


def test_a_budget_on_what_was_not_measured_is_an_error():
    with pytest.raises(KeyError, match=r"s\.gone"):
        lines([RESULT], most={"s.gone": 1})


def test_every_committed_budget_belongs_to_a_scenario():
    for place, scenarios in program._SCENARIOS.items():
        assert {name.partition(".")[0] for name in budgets(place)} == set(scenarios)


@pytest.mark.parametrize(("worst", "code"), [(19.0, 0), (21.0, 1)])
def test_the_exit_code_is_one_when_a_budget_is_missed(monkeypatch, tmp_path, capsys, worst, code):
    monkeypatch.setattr(program, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["bench", "--scenario", "decide"])
    result = Result(scenario="decide", measured={"decide.worst_us": worst})
    monkeypatch.setitem(program._ALONE, "decide", lambda: result)
    assert program.main() == code
    assert ("MISSED" in capsys.readouterr().out) is bool(code)
    (written,) = tmp_path.iterdir()
    assert '"decide.worst_us"' in written.read_text()


def test_any_command_line_can_be_run():
    values = {"{kubeconfig}": "/a b/c", "{namespace}": "n"}
    assert expand("x --config={kubeconfig} {namespace}", values=values) == ["x", "--config=/a b/c", "n"]
    assert expand(OURS, values=values)[0] == sys.executable
    with pytest.raises(ValueError, match=r"unknown placeholder \{nonsense\}"):
        expand("x {nonsense}", values=values)


def test_the_units_that_are_timed_are_in_the_states_that_they_stand_for():
    assert {state: decide(unit, now=NOW).state for state, unit in units().items()} == {s: s for s in units()}
