from __future__ import annotations

import io

import pytest
from rich.console import Console

from k8s_bridge.cli.tables import UnitRow, age, render_detail, render_units, sort_units


def shown(renderable, *, width=160):
    stream = io.StringIO()
    Console(file=stream, width=width, force_terminal=False).print(renderable)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0s"), (0, "0s"), (59.9, "59s"), (60, "1m"), (3599, "59m"), (3900, "1h05m"), (183_600, "2d03h")],
)
def test_ages_are_short(seconds, text):
    assert age(seconds) == text


def test_what_runs_comes_first_and_then_by_priority_and_age(rows, now):
    low = UnitRow(kind="Slurm job", name="9", state="QUEUED", priority=1, since=now)
    older = UnitRow(kind="Slurm job", name="8", state="QUEUED", priority=1, since=now - 5)
    names = [row.name for row in sort_units([low, older, *rows])]
    assert names == ["hpc/[bold]train[/]", "7_3", "42", "8", "9"]


def test_a_row_says_what_it_waits_for_and_why(rows, now):
    text = shown(render_units(rows, now=now))
    line = next(line for line in text.splitlines() if " 42 " in line)
    for part in (
        "Slurm job",
        "cpu",
        "ada",
        "hpc",
        "100",
        "QUEUED",
        "1h01m",
        "third in queue hpc: 64 CPUs short",
    ):
        assert part in line
    assert "node-0,node-1,node-2 +3" in text
    assert "3 units: 1 QUEUED, 2 RUNNING" in text


def test_names_that_look_like_markup_are_shown_as_they_are(rows, now):
    assert "hpc/[bold]train[/]" in shown(render_units(rows, now=now))


def test_columns_that_nobody_fills_are_left_out(now):
    text = shown(render_units([UnitRow(kind="Job", name="a/b", state="HELD")], now=now))
    assert "PARTITION" not in text
    assert "PRIO" not in text
    assert "NAME" in text


def test_no_units_is_said_in_words(now):
    assert "no unit is known" in shown(render_units([], now=now))


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_a_narrow_terminal_still_says_what_each_unit_waits_for(rows, now, width):
    text = shown(render_units(rows, now=now), width=width)
    assert max(len(line) for line in text.splitlines()) <= width
    line = next(line for line in text.splitlines() if "42 " in line)
    assert "QUEUED" in line
    assert "1h01m" in line
    words = " ".join(text.split())
    for word in ("third", "queue", "64", "CPUs", "short"):
        assert word in words
    assert "…" not in text


def test_an_explanation_gives_state_reason_next_step_and_facts(details, now):
    text = shown(render_detail(details[0], now=now))
    for part in (
        "Slurm job  42",
        "QUEUED  for 1h01m",
        "64 CPUs short (NoQuota)",
        "waits for Kueue",
        "QuotaReserved=False",
        "hpc/main",
    ):
        assert " ".join(part.split()) in " ".join(text.split())
