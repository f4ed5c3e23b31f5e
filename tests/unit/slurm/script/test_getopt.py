from __future__ import annotations

import pytest

from k8s_bridge.slurm.script import ScriptError
from k8s_bridge.slurm.script.getopt import parse
from k8s_bridge.slurm.script.lines import Word
from k8s_bridge.slurm.script.table import OPTIONS


def options(*words):
    found, rest = parse([Word(word, "here") for word in words])
    return [(typed.name, typed.value) for typed in found], [word.text for word in rest]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["-n4"], [("ntasks", "4")]),
        (["-n", "4"], [("ntasks", "4")]),
        (["-n=4"], [("ntasks", "=4")]),
        (["--ntasks=4"], [("ntasks", "4")]),
        (["--ntasks", "4"], [("ntasks", "4")]),
        (["--nt", "4"], None),
        (["--cpus-per-t=4"], [("cpus-per-task", "4")]),
        (["--exc"], None),
        (["--exclus"], [("exclusive", None)]),
        (["--tasks-per-node=4"], [("tasks-per-node", "4")]),
        (["-HOn4"], [("hold", None), ("overcommit", None), ("ntasks", "4")]),
        (["-Hn", "4", "-N2"], [("hold", None), ("ntasks", "4"), ("nodes", "2")]),
        (["-k", "-koff"], [("no-kill", None), ("no-kill", "off")]),
        (["--mem", "-n4"], [("mem", "-n4")]),
        (["--comment="], [("comment", "")]),
    ],
)
def test_spellings(words, found):
    if found is None:
        with pytest.raises(ScriptError, match="can be any of"):
            options(*words)
    else:
        assert options(*words) == (found, [])


def test_an_optional_value_is_only_taken_with_an_equals_sign():
    assert options("--exclusive", "user", "-n2") == ([("exclusive", None)], ["user", "-n2"])
    assert options("--exclusive=user") == ([("exclusive", "user")], [])


def test_two_dashes_end_the_options():
    assert options("-n2", "--", "-N2") == ([("ntasks", "2")], ["-N2"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-n"], "needs a value"),
        (["--ntasks"], "needs a value"),
        (["--hold=1"], "takes no value"),
        (["-Z"], "no option -Z"),
        (["--clust", "a"], "--cluster, --cluster-constraint, --clusters|can be any of"),
    ],
)
def test_what_getopt_does_not_take(words, says):
    with pytest.raises(ScriptError, match=says):
        options(*words)


def test_options_of_plugins_are_kept_with_what_looks_like_their_value():
    found, rest = parse([Word(w, "here") for w in ("--x11-proxy", "on", "--flag", "-n2", "--my=b")])
    assert [(typed.text, typed.option is None) for typed in found] == [
        ("--x11-proxy=on", True),
        ("--flag", True),
        ("--ntasks=2", False),
        ("--my=b", True),
    ]
    assert rest == ()


def test_the_table_spells_each_option_once():
    names = [option.name for option in OPTIONS]
    shorts = [option.short for option in OPTIONS if option.short]
    assert len(set(names)) == len(names)
    assert len(set(shorts)) == len(shorts)
