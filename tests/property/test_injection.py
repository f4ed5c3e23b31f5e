"""Whatever users call their jobs, accounts and features: it is shown as it is, and does nothing."""

from __future__ import annotations

import io
import json
import re
import shlex
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.console import Console
from support.jobset_cases import LAYOUT, policy

from k8s_bridge.cli.tables import render_detail, render_units
from k8s_bridge.core.plain import one_line, printable
from k8s_bridge.runtime.controller import Outcome, Result
from k8s_bridge.runtime.logging import OutcomeLog, configure
from k8s_bridge.runtime.metrics import Metrics
from k8s_bridge.runtime.redact import Redactor
from k8s_bridge.runtime.settings import LogFormat
from k8s_bridge.runtime.units import UnitDetail, UnitRow
from k8s_bridge.slurm.jobset import render_jobset
from k8s_bridge.slurm.jobset.conf import slurm_conf
from k8s_bridge.slurm.jobset.facts import LONGEST
from k8s_bridge.slurm.layout import Exclusive, Layout, Refusal, plan
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.moves.grace import signal_of
from k8s_bridge.slurm.priority import acknowledged, asked

EVIL = (
    "{{ 7 * 7 }}",
    "{% for x in range(10) %}x{% endfor %}",
    "{{ ''.__class__.__mro__ }}",
    "a\nspec: {hostNetwork: true}",
    '", "privileged": true, "x": "',
    "'; reboot; echo '",
    "$(reboot) `reboot` $HOME $(POD_NAME)",
    "\x1b]0;owned\x07\x1b[31mred",
    "\u202egnp.exe\u2028next\u0085line\x00end",
    "[red]markup[/red] [link=http://evil.example.com]x[/link]",
    "x CPUs=999 RealMemory=999999",
    "wm:prio=99999999999 wm:prio=-1 wm:signal=KILL wm:prio-applied=7",
)
texts = st.one_of(
    st.sampled_from(EVIL),
    st.text(max_size=40),
    st.builds("{}{}".format, st.text(max_size=5), st.sampled_from(EVIL)),
)
TOLD = ("name", "user_name", "account", "qos", "wckey", "comment")
TEMPLATE: dict[str, Any] = {
    "metadata": {
        "labels": {"team": "{{ job.account | label }}"},
        "annotations": {name: f"<{{{{ job.{name} }}}}>" for name in ("name", "comment", "wckey", "qos")},
    },
    "spec": {
        "containers": [
            {"name": "slurmd", "env": [{"name": "WHO", "value": "{{ job.user }}"}]},
            {"name": "side", "image": "side:1", "command": ["sh", "-c", "log {{ job.name | quote }}"]},
        ]
    },
}
POLICY = policy(TEMPLATE)
LABEL = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?")


def rendered(**fields: str) -> dict[str, Any]:
    job = Job(job_id=42, user_id=1000, partition="batch", submit_time=7, **fields)
    return render_jobset(job=job, layout=LAYOUT, policy=POLICY)


def pod(manifest: dict[str, Any]) -> dict[str, Any]:
    template: dict[str, Any] = manifest["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    return template


def skeleton(tree: Any) -> Any:
    """Its keys, lists and types, without what leaves say; labels and the annotations apart."""
    if isinstance(tree, dict):
        return {key: skeleton(value) for key, value in tree.items() if key != "labels"}
    return [skeleton(item) for item in tree] if isinstance(tree, list) else type(tree)


@given(st.fixed_dictionaries(dict.fromkeys(TOLD, texts)))
def test_names_change_no_structure_and_are_no_templates(fields: dict[str, str]):
    manifest = rendered(**fields)
    assert skeleton(manifest) == skeleton(rendered(**dict.fromkeys(TOLD, "x")))
    spec = pod(manifest)
    assert spec["metadata"]["annotations"]["name"] == f"<{printable(fields['name'])}>"
    assert spec["metadata"]["annotations"]["comment"] == f"<{printable(fields['comment'])}>"
    slurmd, side = spec["spec"]["containers"]
    assert {"name": "WHO", "value": printable(fields["user_name"])} in slurmd["env"]
    assert slurmd["args"] == pod(rendered())["spec"]["containers"][0]["args"]
    assert shlex.split(side["command"][2]) == ["log", printable(fields["name"])]
    labels = {**manifest["metadata"]["labels"], **spec["metadata"]["labels"]}
    assert all(LABEL.fullmatch(value) and len(value) <= 63 for value in labels.values())
    assert json.loads(json.dumps(manifest)) == manifest


@pytest.mark.parametrize("name", TOLD)
def test_however_long_a_text_is_the_pod_can_be_made(name: str):
    """256 KiB are for all annotations together."""
    manifest = rendered(**{name: "\u00e9" * 1_000_000})
    annotations = [manifest["metadata"]["annotations"], pod(manifest)["metadata"]["annotations"]]
    assert all(sum(len(k.encode()) + len(v.encode()) for k, v in one.items()) < 2**18 for one in annotations)
    assert max(len(value) for one in annotations for value in one.values()) <= LONGEST + 2


@given(st.one_of(texts, st.text("nodes-for-&by.|()[]*7 \t\n'\"$`=,;\\", max_size=30)))
@example("fast CPUs=999")
@example("a,b Gres=gpu:8")
def test_a_feature_is_one_word_of_the_conf_or_refused(expression: str):
    job = Job(job_id=42, tasks=1, cpus=1, features=expression)
    found = plan(job, node_shape=None, exclusive=Exclusive.AS_ASKED)
    if isinstance(found, Refusal):
        assert found.option == "--constraint"
        return
    for conf in confs(found):
        words = dict(word.split("=", 1) for word in conf.split(" "))
        assert set(words) <= {"Features", "CPUs", "RealMemory", "Gres"}
        assert words["Features"].split(",") == ["nodes-for-42", *found.features]
        assert shlex.split(shlex.quote(conf)) == [conf]


@given(st.sampled_from(("tres_per_node", "tres_per_job", "tres_per_task")), texts)
def test_a_gres_is_one_word_of_the_conf_or_refused(field: str, text: str):
    job = Job(job_id=42, tasks=1, cpus=1, **{field: f"gres/{text}"})
    found = plan(job, node_shape=None, exclusive=Exclusive.AS_ASKED)
    if isinstance(found, Layout):
        for conf in confs(found):
            assert len(conf.split()) == len(dict(word.split("=", 1) for word in conf.split()))


def confs(layout: Layout) -> list[str]:
    features = ("nodes-for-42", *layout.features)
    return [slurm_conf(group.shape, features=features) for group in layout.groups]


@given(texts)
def test_a_comment_asks_for_a_priority_and_a_signal_and_for_nothing_else(comment: str):
    priority = asked(comment)
    assert priority is None or 0 < priority < 2**31
    assert signal_of(comment) in {"", "TERM", "INT", "HUP", "QUIT", "CONT", "USR1", "USR2"}
    assert asked(acknowledged(comment, priority)) == priority


def shown(text: str) -> str:
    row = UnitRow(
        kind="Slurm job", name="42", state="Queued", queue=text, partition=text, user=text, priority=1,
        reason="Pending", text=text, since=0.0, nodes=(text,), workloadmixing="hpc/main",
    )  # fmt: skip
    detail = UnitDetail(row=row, options={text: text}, facts={"comment": text}, next_step=text)
    out = io.StringIO()
    console = Console(file=out, width=200, color_system=None)
    console.print(render_units([row], now=1.0))
    console.print(render_detail(detail, now=1.0))
    return out.getvalue()


@given(texts)
def test_no_terminal_obeys_what_a_user_wrote(text: str):
    said = shown(text)
    assert printable(said) == said


@given(texts)
@settings(max_examples=50)
def test_no_text_makes_a_log_line_of_its_own(text: str):
    for form in (LogFormat.JSON, LogFormat.CONSOLE):
        stream = io.StringIO()
        log = OutcomeLog(configure(level="info", form=form, stream=stream, redactor=Redactor()))
        log(Outcome(controller="hpc/main", key=42, result=Result.VERDICT, state="Queued", text=text))
        (line,) = stream.getvalue().splitlines()
        if form is LogFormat.JSON:
            assert json.loads(line).get("text", "") == text
        else:
            assert one_line(line) == line


@pytest.mark.parametrize("text", EVIL)
def test_nothing_that_a_user_wrote_is_a_label_of_a_metric(text: str):
    metrics = Metrics(lambda: True)
    for result in Result:
        metrics.outcome(
            Outcome(controller="hpc/main", key=42, result=result, state="Queued", effect="SetText", text=text)
        )
    said = metrics.text().decode()
    assert "hpc/main" in said
    assert text not in said


@given(texts)
def test_a_clean_text_stays_what_it_is(text: str):
    assert one_line(printable(text)) == one_line(text)
    if text.isprintable():
        assert printable(text) == text


@given(texts, texts)
def test_two_jobs_never_have_one_name(first: str, second: str):
    one, other = rendered(name=first), rendered(name=second)
    assert one["metadata"]["name"] == other["metadata"]["name"] == "slurm-job-42"
    assert msgspec.json.encode(one["metadata"]["annotations"]) == msgspec.json.encode(
        other["metadata"]["annotations"]
    )
