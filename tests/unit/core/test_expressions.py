"""Who may edit one WorkloadMixing cannot stop the others by a template that never ends or fills memory."""

from __future__ import annotations

import pytest

from k8s_bridge.core.expressions import LARGEST
from k8s_bridge.core.rendering import DEEPEST, TemplateError, compile_tree

NAME = "x" * 1000
SIXTY = "a" * 60


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}", "For"),
        ("{% set x = name ~ name %}{% set x = x ~ x %}{{ x }}", "Assign"),
        ("{% with x = name ~ name %}{{ x }}{% endwith %}", "With"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "Macro"),
        ("{{ name.ljust(900000000) }}", "Call"),
        ("{{ lipsum(n=100000) }}", "Call"),
        ("{{ 9 ** (9 ** 9) }}", "Pow"),
        ("{{ name * 900000000 }}", "for numbers only"),
        ("{{ [name] * 900000000 }}", "for numbers only"),
        ("{{ '%900000000d' % 1 }}", "for numbers only"),
        ("{{ " + " * ".join(["9999999999"] * 200) + " }}", "too large"),
        ("{{ name | center(900000000) }}", "center"),
        ("{{ name | tojson(indent=900000000) }}", "indent"),
        ("{{ 'a'" + f" | replace('a', '{SIXTY}')" * 9 + " }}", "more than"),
        ("{{ name | join(name) | join(name) }}", "more than"),
        ('{{ "\'"' + " | quote" * 99 + " }}", "more than"),
        ("{{ name }}" * 263, "more than"),
        ("{{ 1 }}" * 1001, "parts"),
        (f"{{{{ {'(' * 5000}1{')' * 5000} }}}}", "recursion"),
        ("{{ range }}", "undefined"),
    ],
)
def test_what_would_stop_the_process_is_refused(text: str, words: str) -> None:
    with pytest.raises(TemplateError, match=words):
        compile_tree({"a": text}).render({"name": NAME})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ node.memory * 1024 // 3 + 1 }} {{ node.memory % 1000 }}", "699051 48"),
        ("{% if node.gpus and job.name[:2] == 'tr' %}gpu{% else %}cpu{% endif %}", "gpu"),
        ("{{ 'many' if node.cpus > 4 else 'few' }}", "many"),
        ("{{ job.features | join('-') }} {{ job.features | length }}", "fast-big 2"),
        ("{{ job.account | default('none') | upper | replace('A', 'b') | truncate(5) }}", "bLICE"),
        ("{{ job.name | tojson }} {{ job.name | quote }}", "\"train it\" 'train it'"),
        ("{{ job.nosuch | default('none') }}{# nothing #}", "none"),
    ],
)
def test_what_a_template_is_for(text: str, said: str) -> None:
    facts = {
        "job": {"name": "train it", "account": "alice", "features": ("fast", "big")},
        "node": {"cpus": 8, "memory": 2048, "gpus": 1},
    }
    assert compile_tree(text).render(facts) == said


def test_a_text_may_be_as_large_as_a_pod_can_have_it() -> None:
    rest = "y" * (LARGEST - len(NAME))
    assert len(compile_tree("{{ name }}" + rest).render({"name": NAME})) == LARGEST


@pytest.mark.parametrize("levels", [DEEPEST + 1, 5000])
def test_a_tree_that_nests_without_end_is_refused(levels: int) -> None:
    tree: object = []
    for _ in range(levels):
        tree = [tree]
    with pytest.raises(TemplateError, match="nests deeper than 64 levels"):
        compile_tree({"spec": tree})
