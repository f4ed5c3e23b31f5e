"""The chart as helm renders it. `python -m support.chart` writes the goldens anew."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from testbed import programs

PROJECT = Path(__file__).parents[2]
CHART = PROJECT / "charts/k8s-bridge"
CASES = sorted((PROJECT / "tests/chart/cases").glob("*.yaml"))
GOLDENS = PROJECT / "tests/chart/goldens"

Values = Mapping[str, Any]


class Refused(RuntimeError):
    """helm does not take the values; the text says why."""


def helm() -> Path | None:
    """The testbed's helm, else the machine's."""
    built = programs.program("helm")
    found = built if built.exists() else shutil.which("helm")
    return Path(found) if found else None


def render(
    values: Values, *, release: str = "k8s-bridge", namespace: str = "platform", served: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """What the chart makes of the values, hooks included, where those APIs are served too. Raises Refused."""
    text = template(values, release=release, namespace=namespace, served=served)
    return [found for found in yaml.safe_load_all(text) if found]


def template(
    values: Values, *, release: str = "k8s-bridge", namespace: str = "platform", served: Iterable[str] = ()
) -> str:
    """The same as text."""
    argv = [str(helm()), "template", release, str(CHART), f"--namespace={namespace}", "--values=-"]
    argv += [f"--api-versions={api}" for api in served]
    done = subprocess.run(argv, input=json.dumps(values), capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(done.stderr)
    return done.stdout


def values_of(case: Path) -> dict[str, Any]:
    """The values of a case."""
    return dict(yaml.safe_load(case.read_text()) or {})


if __name__ == "__main__":
    GOLDENS.mkdir(exist_ok=True)
    for case in CASES:
        (GOLDENS / case.name).write_text(template(values_of(case)))
