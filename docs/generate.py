"""Writes what docs/ takes from code and tests: tables between marks. A test fails when one is stale."""

from __future__ import annotations

import inspect
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click
from support.fault_matrix import MATRIX, PATIENT
from support.fault_trial import Outcome
from support.fault_trial import Stage as Struck
from support.option_samples import SAMPLES
from support.scontrol_table import ON_22_05, ROWS
from support.scontrol_table import Row as Trial
from support.spec_fields import FIELDS, Does

from k8s_bridge.cli.main import main as program
from k8s_bridge.cli.output import EXIT_HELP
from k8s_bridge.ray.decide import TABLE as RAY
from k8s_bridge.ray.decide import Row as RayRow
from k8s_bridge.ray.doctor.checks import CLUSTER as RAY_CLUSTER
from k8s_bridge.ray.doctor.checks import MIXING as RAY_MIXING
from k8s_bridge.runtime.doctor.verdict import Check
from k8s_bridge.runtime.families import Family, Kind
from k8s_bridge.runtime.metrics import Metrics, Stage
from k8s_bridge.sandbox.faults import FAULTS
from k8s_bridge.slurm.arrays.table import ARRAY, SLOT
from k8s_bridge.slurm.decide import TABLE
from k8s_bridge.slurm.doctor.checks.cluster import CLUSTER
from k8s_bridge.slurm.doctor.checks.mixing import MIXING
from k8s_bridge.slurm.doctor.checks.slurm import SLURM
from k8s_bridge.slurm.eligibility import RULES
from k8s_bridge.slurm.layout import Exclusive, plan
from k8s_bridge.slurm.row import Row
from k8s_bridge.slurm.script import Fate, Identity, effects, read
from k8s_bridge.slurm.script.option import NO_EFFECT, Spelled
from k8s_bridge.slurm.script.table import OPTIONS
from monitoring.alerts import ALERTS, Alert

AnyRow = Row[Any] | RayRow
DOCS = Path(__file__).parent
_OUTCOMES = {Fate.COUNTS: "handled", Fate.IGNORED: "ignored", Fate.REFUSED: "refused"}
_MARKED = re.compile(r"(?P<begin><!-- (?P<name>\w+) -->\n).*?(?P<end><!-- /(?P=name) -->)", re.DOTALL)


def states(table: Iterable[AnyRow] = TABLE) -> str:
    """The table of states of jobs, or of arrays or slots."""
    return _table(("state", "what shows it", "what is done"), map(_state, table))


def eligibility() -> str:
    """What keeps a job from being admitted."""
    return _table(("what", "when"), ((_word(rule.__name__), _said(rule)) for rule in RULES))


def scontrol() -> str:
    """The table of what scontrol does."""
    return _table(("command", "by", "while the job", "what becomes of it"), map(_trial, ROWS))


def scontrol_22_05() -> str:
    """What differs on Slurm 22.05."""
    return "".join(f"- `{command}`: {outcome.value}\n" for command, outcome in ON_22_05.items())


def options() -> str:
    """What becomes of each option of sbatch."""
    names = (option.name for option in OPTIONS if option.spelled is Spelled.ANYWHERE)
    return _table(("option", "for example", "outcome", "what becomes of it"), map(_option, sorted(names)))


def metrics() -> str:
    """Every metric of ours."""
    return _table(("metric", "kind", "labels", "what it tells"), map(_metric, Metrics(lambda: True).families))


def stages() -> str:
    """The stages of a job's life."""
    source = inspect.getsource(Stage)
    told = {stage: re.search(rf'= "{stage.value}"\n    """(.*?)"""', source) for stage in Stage}
    return _table(("stage", "from what to what"), ((s.value, m[1]) for s, m in told.items() if m))


def alerts() -> str:
    """Every alert."""
    return _table(("alert", "severity", "what it tells"), map(_alert, ALERTS))


def edits() -> str:
    """What an edit of each field of the spec does while jobs wait and run."""
    by = {does: [f"`{name}`" for name, edit in FIELDS.items() if edit.does is does] for does in Does}
    return _table(("what it does", "fields"), ((does.value, ", ".join(names)) for does, names in by.items()))


def checks(table: Iterable[Check[Any]]) -> str:
    """A table of the doctor's checks."""
    rows = ((f"`{check.name}`", _said(check.look), check.why) for check in table)
    return _table(("check", "all is well when", "else"), rows)


def commands() -> str:
    """The commands that people give."""
    told = ((name, (command.help or "").partition("\n\n")[0]) for name, command in _commands())
    return _table(
        ("command", "what it does"), ((f"`k8s-bridge {name}`", " ".join(t.split())) for name, t in told)
    )


def exits() -> str:
    """The exit codes."""
    return _table(("code", "meaning"), re.findall(r"^  (\d)  (.+)$", EXIT_HELP, re.MULTILINE))


def settings() -> str:
    """The options of the controller."""
    options = (one for one in dict(_commands())["run"].params if isinstance(one, click.Option))
    rows = ((f"`{one.opts[0]}`", f"`{one.envvar}`", one.help or "") for one in options)
    return _table(("option", "environment", "what it sets"), rows)


def budgets() -> str:
    """The most that each value of a benchmark may be."""
    found = tomllib.loads((DOCS.parent / "bench" / "budgets.toml").read_text(encoding="utf-8"))
    rows = (
        (place, scenario, f"`{name}`", f"{limit:g}")
        for place, scenarios in found.items()
        for scenario, limits in scenarios.items()
        for name, limit in limits.items()
    )
    return _table(("where", "scenario", "value", "at most"), rows)


def _commands() -> list[tuple[str, click.Command]]:
    return [(name, one) for name, one in sorted(program.commands.items()) if not one.hidden]


def fault_outcomes() -> str:
    """What becomes of jobs that a fault strikes, in words."""
    return _table(("in short", "what becomes of the job"), ((o.word, o.text) for o in Outcome))


def faults() -> str:
    """The matrix of faults and stages."""
    heads = ("where", "what happens", *(f"job {stage.value}" for stage in Struck))
    rows = (
        (fault.side.value, fault.text, *(MATRIX[fault.name][stage].word for stage in Struck))
        for fault in FAULTS
        if fault.name in MATRIX
    )
    return _table(heads, rows)


def patient_faults() -> str:
    """What becomes of a job that runs, with and without drainOnPreemption."""
    rows = (
        (fault.side.value, fault.text, MATRIX[fault.name][Struck.RUNNING].word, PATIENT[fault.name].word)
        for fault in FAULTS
        if fault.name in PATIENT
    )
    return _table(("where", "what happens", "job runs", "with `drainOnPreemption`"), rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "states": states,
    "array_states": partial(states, ARRAY),
    "slot_states": partial(states, SLOT),
    "ray_states": partial(states, RAY),
    "edits": edits,
    "eligibility": eligibility,
    "scontrol": scontrol,
    "scontrol_22_05": scontrol_22_05,
    "fault_outcomes": fault_outcomes,
    "faults": faults,
    "patient_faults": patient_faults,
    "options": options,
    "metrics": metrics,
    "alerts": alerts,
    "budgets": budgets,
    "commands": commands,
    "exits": exits,
    "settings": settings,
    "doctor_cluster": partial(checks, CLUSTER),
    "doctor_mixing": partial(checks, MIXING),
    "doctor_slurm": partial(checks, SLURM),
    "doctor_ray": partial(checks, (*RAY_CLUSTER, *RAY_MIXING)),
    "stages": stages,
}


def pages() -> Mapping[Path, str]:
    """The pages with tables, as they should be."""
    texts = {page: page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("*.md"))}
    return {page: rendered(text) for page, text in texts.items() if _MARKED.search(text)}


def rendered(text: str) -> str:
    """`text` with each table between its marks."""
    return _MARKED.sub(lambda match: match["begin"] + TABLES[match["name"]]() + match["end"], text)


def _state(row: AnyRow) -> tuple[str, ...]:
    return row.state.value, _said(row.holds), _said(row.move)


def _trial(row: Trial) -> tuple[str, ...]:
    return f"`{row.command}`", row.by.value, row.stage.value, row.outcome.value


def _metric(family: Family) -> tuple[str, ...]:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    suffix = "_total" if family.kind is Kind.COUNTER else ""
    return f"`{family.full_name}{suffix}`", family.kind.value, labels, family.text


def _alert(alert: Alert) -> tuple[str, ...]:
    words = {"value": "N", "workloadmixing": "`NAMESPACE/NAME`", "type": "`TYPE`", "direction": "in, out"}
    said = re.sub(r"\{\{ \$(?:labels\.)?(\w+)[^}]*\}\}", lambda match: words[match[1]], alert.summary)
    return f"[{alert.name}](#{alert.anchor})", alert.severity.value, said


def _option(name: str) -> tuple[str, ...]:
    """As `render` tells it, on a partition without settings of its own."""
    words = SAMPLES[name]
    if not words:
        return f"`--{name}`", "", _OUTCOMES[Fate.IGNORED], NO_EFFECT
    (component,) = read("#!/bin/sh\n", environment={}, arguments=shlex.split(words), identity=Identity())
    planned = plan(component.job, node_shape=None, exclusive=Exclusive.AS_ASKED)
    told = {effect.option.partition("=")[0]: effect for effect in effects(component, planned)}
    effect = told[f"--{name}"]
    return f"`--{name}`", f"`{words}`".replace("|", "\\|"), _OUTCOMES[effect.fate], effect.text


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    cells = (heads, tuple("---" for _ in heads), *rows)
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def _word(name: str) -> str:
    return name.replace("_", " ")


def _said(part: Callable[..., object]) -> str:
    return " ".join((part.__doc__ or "").partition("\n\n")[0].split())


if __name__ == "__main__":
    for path, page in pages().items():
        path.write_text(page, encoding="utf-8")
