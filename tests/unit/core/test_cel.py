from __future__ import annotations

import pytest

from k8s_bridge.core.cel import CelError, evaluate, parse

OBJECT = {
    "metadata": {"name": "a", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
    "spec": {"count": 3, "gates": [{"name": "x"}, {"name": "y"}], "share": 0.5},
}


def value(text: str, **more: object) -> object:
    return evaluate(parse(text), {"object": OBJECT, **more})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1 + 2 * 3 == 7 && !(1 > 2)", True),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("'a' + \"b\" == 'ab'", True),
        ("r'\\d' + '\\n'", "\\d\n"),
        ("1 == 1.0 && '1' != '2'", True),
        ("1 == '1'", False),
        ("1 < 2 ? 'yes' : 'no'", "yes"),
        ("object.spec.count in [1, 2, 3] && 'name' in object.metadata", True),
        ("has(object.metadata.labels) && !has(object.metadata.annotations)", True),
        ("object.metadata.labels['kueue.x-k8s.io/queue-name']", "lq"),
        ("object.?metadata.?annotations[?'x'].orValue('none')", "none"),
        ("object.metadata.?labels['kueue.x-k8s.io/queue-name'].orValue('')", "lq"),
        ("object.spec.gates.exists(g, g.name == 'y')", True),
        ("object.spec.gates.all(g, g.name == 'y')", False),
        ("object.spec.gates.exists_one(g, g.name == 'x')", True),
        ("object.spec.gates.map(g, g.name)", ["x", "y"]),
        ("object.spec.gates.map(g, g.name != 'x', g.name)", ["y"]),
        ("object.spec.gates.filter(g, g.name == 'x').size()", 1),
        ("object.metadata.labels.exists(k, k.startsWith('kueue'))", True),
        ("size('abc') + [1].size()", 4),
        ("'a,b'.split(',').join('-').upperAscii()", "A-B"),
        ("'ray-7'.matches('^[a-z]+-[0-9]+$')", True),
        (r"'ray-7\n'.matches('^[a-z]+-[0-9]+$')", False),
        ("int('12') + 1 == 13 && string(1.5) == '1.5'", True),
        ("'x'.substring(0, 1).replace('x', 'z').indexOf('z')", 0),
        ("quantity('500m').isLessThan(quantity('1')) && quantity('2').asInteger() == 2", True),
        ("isQuantity('1Gi') && !isQuantity('one')", True),
        ("jsonpatch.escapeKey('a/b~c')", "a~1b~0c"),
        ("false && missing.field", False),
        ("missing.field || true", True),
        ("[1, ?optional.none(), ?optional.of(2)]", [1, 2]),
        ("{'a': 1, ?'b': optional.none()}", {"a": 1}),
        ("optional.of(2).optMap(x, x + 1).value()", 3),
        ("variables.queue", "lq"),
    ],
)
def test_value(text, wanted):
    variables = {"queue": "lq"}

    assert value(text, variables=variables) == wanted


def test_apply_configuration_is_what_it_says():
    text = """Object{
      metadata: Object.metadata{labels: {"a": "b"}},
      spec: Object.spec{suspend: false, gates: [Object.spec.gates{name: "z"}]}
    }"""

    assert value(text) == {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"suspend": False, "gates": [{"name": "z"}]},
    }


def test_json_patch_is_a_list_of_operations():
    text = """has(object.metadata.annotations) ? [] : [
      JSONPatch{op: "add", path: "/metadata/annotations", value: {}},
      JSONPatch{op: "remove", path: "/metadata/labels/" + jsonpatch.escapeKey("kueue.x-k8s.io/queue-name")},
    ]"""

    assert value(text) == [
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "remove", "path": "/metadata/labels/kueue.x-k8s.io~1queue-name"},
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("object.spec.suspend", "no such key: suspend"),
        ("nobody", "undeclared reference to 'nobody'"),
        ("object.spec.count.nothing()", "undeclared reference to 'nothing'"),
        ("1 + 'a'", "no such overload"),
        ("1 < 'a'", "no such overload"),
        ("[1][1]", "index out of bounds"),
        ("1 / 0", "division by zero"),
        ("int('x')", "type conversion"),
        ("optional.none().value()", "optional.none() dereference"),
        ("missing.x && true", "undeclared reference"),
        ("1 ? 2 : 3", "as a condition"),
        ("1 +", "syntax error"),
        ("(1", "syntax error"),
        ("#", "syntax error"),
    ],
)
def test_no_value_is_an_error(text, why):
    with pytest.raises(CelError, match=why.replace("(", r"\(").replace(")", r"\)")):
        value(text)
