"""promtool: what would fire, when. Times are minutes since the beginning of the series."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

STEP = 0.5
"""Minutes between two scrapes."""
INSTALL = "NO {0} HERE: apt-get install {0} (make test-packages)"

Series = Mapping[str, str]
"""Notation of promtool by series: `0x10` is eleven zeroes, `0+30x10` grows by 30, `_x4` is absent."""


def program(name: str) -> str:
    """Path of a program of Debian's package prometheus; skips the test without it."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(INSTALL.format(name if name != "promtool" else "prometheus"))
    return found


def steady(value: float, *, minutes: float) -> str:
    """A series that does not change."""
    return f"{value}x{round(minutes / STEP)}"


def growing(per_minute: float, *, minutes: float, start: float = 0.0) -> str:
    """A series that grows evenly."""
    return f"{start}+{per_minute * STEP}x{round(minutes / STEP)}"


def missing(minutes: float) -> str:
    """No samples for so long."""
    return f"_x{round(minutes / STEP)}"


def firing(
    directory: Path,
    rules: Mapping[str, Any],
    series: Series,
    *,
    alert: str,
    at: float,
    expected: Iterable[Mapping[str, str]],
) -> str:
    """Compare what of `alert` fires at a minute with `expected`, labels only. "" or what promtool says."""
    for group in rules["groups"]:
        for rule in group["rules"]:
            rule.pop("annotations")
    (directory / "rules.yaml").write_text(yaml.safe_dump(rules))
    test = {
        "interval": f"{STEP * 60:.0f}s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [
            {
                "eval_time": f"{at * 60:.0f}s",
                "alertname": alert,
                "exp_alerts": [{"exp_labels": dict(labels)} for labels in expected],
            }
        ],
    }
    document = {"rule_files": ["rules.yaml"], "evaluation_interval": "30s", "tests": [test]}
    (directory / "test.yaml").write_text(yaml.safe_dump(document))
    argv = [program("promtool"), "test", "rules", str(directory / "test.yaml")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def check_rules(directory: Path, rules: Mapping[str, Any]) -> str:
    """What promtool finds wrong with a rule file; "" when nothing."""
    (directory / "rules.yaml").write_text(yaml.safe_dump(rules))
    argv = [
        program("promtool"),
        "check",
        "rules",
        "--lint=all",
        "--lint-fatal",
        str(directory / "rules.yaml"),
    ]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr
