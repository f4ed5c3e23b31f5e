from __future__ import annotations

import timeit
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8s_bridge.core.errors import Terminal
from k8s_bridge.core.rendering import TemplateError, compile_tree

TREE: dict[str, Any] = {
    "metadata": {"labels": {"team": "{{ job.account }}", "fixed": "x"}},
    "spec": {
        "priority": 5,
        "flag": True,
        "tolerations": [{"key": "queue", "value": "{{ job.name }}"}, {"key": "plain"}],
    },
}


def shape(tree: Any) -> Any:
    """The tree with every string leaf taken out."""
    if isinstance(tree, dict):
        return {key: shape(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [shape(item) for item in tree]
    return "" if isinstance(tree, str) else tree


def test_leaves_are_rendered_and_everything_else_stays() -> None:
    rendered = compile_tree(TREE).render({"job": {"account": "physics", "name": "run"}})
    assert rendered["metadata"]["labels"] == {"team": "physics", "fixed": "x"}
    assert rendered["spec"]["tolerations"] == [{"key": "queue", "value": "run"}, {"key": "plain"}]
    assert rendered["spec"]["priority"] == 5
    assert rendered["spec"]["flag"] is True


@given(name=st.text(), account=st.text())
def test_no_text_of_a_user_becomes_structure_or_template(name: str, account: str) -> None:
    rendered = compile_tree(TREE).render({"job": {"account": account, "name": name}})
    assert shape(rendered) == shape(TREE)
    assert rendered["spec"]["tolerations"][0]["value"] == name
    assert rendered["metadata"]["labels"]["team"] == account


@pytest.mark.parametrize(
    "text", ["{{ 7*7 }}", "{% raw %}", "a: b\n- c", "'\"}", "{{ job.account }}", "\u0085"]
)
def test_template_marks_in_a_value_stay_text(text: str) -> None:
    rendered = compile_tree(["{{ name }}", "-{{ name }}-"]).render({"name": text})
    assert rendered == [text, f"-{text}-"]


def test_label_makes_a_text_fit_for_a_label_value() -> None:
    assert compile_tree("{{ name | label }}").render({"name": "Phys & Chem!"}) == "Phys-Chem"


def test_a_lone_number_stays_a_string() -> None:
    assert compile_tree({"a": "{{ cpus }}"}).render({"cpus": 4}) == {"a": "4"}


@pytest.mark.parametrize(
    ("tree", "path"),
    [
        ({"spec": {"list": ["ok", "{{ nosuch }}"]}}, "spec.list[1]"),
        ({"spec": {"a": "{{ job.nosuch }}"}}, "spec.a"),
        ({"spec": {"a": "{{ 1 // 0 }}"}}, "spec.a"),
        ({"spec": {"a": "{{ job.__class__.__mro__ }}"}}, "spec.a"),
        ({"spec": {"a": "{{ job.update({'x': 1}) }}"}}, "spec.a"),
        ({"spec": {"a": "{{ "}}, "spec.a"),
        ({"spec": {"a": "{% if %}"}}, "spec.a"),
        ({"spec": {"{{ key }}": "v"}}, "spec.{{ key }}"),
    ],
)
def test_errors_name_the_leaf(tree: Any, path: str) -> None:
    with pytest.raises(TemplateError) as caught:
        compile_tree(tree).render({"job": {"name": "x"}})
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path}: ")
    assert isinstance(caught.value, Terminal)
    assert caught.value.reason == "InvalidTemplate"


def test_syntax_is_checked_when_compiled() -> None:
    with pytest.raises(TemplateError):
        compile_tree({"a": "{{ "})


def test_a_rendered_tree_belongs_to_the_caller() -> None:
    template = compile_tree({"a": {"b": ["c"]}})
    template.render({})["a"]["b"].append("d")
    assert template.render({}) == {"a": {"b": ["c"]}}


def test_null_is_absence() -> None:
    assert compile_tree({"spec": None, "a": 1}).render({}) == {"a": 1}


def test_rendering_takes_a_fraction_of_a_millisecond() -> None:
    template = compile_tree({str(i): TREE for i in range(3)})
    facts = {"job": {"account": "a", "name": "b"}}
    best = min(timeit.repeat(lambda: template.render(facts), number=100, repeat=5)) / 100
    assert best < 0.001
