from __future__ import annotations

import pytest

from k8s_bridge.slurm.script import ScriptError
from k8s_bridge.slurm.script.lines import check_shape, components, foreign, split


def words(body):
    return [[word.text for word in part] for part in components("#!/bin/bash\n" + body)]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("#SBATCH -n4\necho\n#SBATCH -N2\n", ["-n4"]),
        ("#SBATCH -n4\n\n   \n  # note\n#SBATCH -N2\n", ["-n4", "-N2"]),
        ("##SBATCH -n4\n", []),
        (" #SBATCH -n4\n", []),
        ("# SBATCH -n4\n", []),
        ("#SBATCH\n#SBATCH -N2\n", ["-N2"]),
        ("#SBATCH-n4\n", ["-n4"]),
        ("#SLURM -n4\n", ["-n4"]),
        ("#SBATCH -n\n#SBATCH 4\n", ["-n", "4"]),
    ],
)
def test_which_lines_count(body, found):
    assert words(body) == [found]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (" -n4 # a note", ("-n4",)),
        (" -n4#note -N2", ("-n4",)),
        (" --comment='a # b' -n3", ("--comment=a # b", "-n3")),
        (r" --comment=a\ b -n3", ("--comment=a b", "-n3")),
        (r" --comment=a\#b\\c\"d", ('--comment=a#b\\c"d',)),
        (r""" --comment="a\"b" x""", ('--comment=a"b', "x")),
        (' --comment="it\'s"', ("--comment=it's",)),
        (' "" -n3', ()),
        (" -J hetjob -n3", ("-J",)),
        (" -J hetjobs -n3", ("-J", "hetjobs", "-n3")),
        ("\t-n\v4\r", ("-n", "4")),
        (" --comment=a\\\tb", ("--comment=a", "b")),
    ],
)
def test_words_are_split_as_sbatch_does_not_as_a_shell(line, found):
    assert split(line) == found


def test_components_of_a_het_job():
    body = "#SBATCH -n2\n#SBATCH hetjob -c9\n#SBATCH -n3\n#SBATCH PackJob\n"
    assert words(body) == [["-n2"], ["-n3"], []]


@pytest.mark.parametrize(
    ("line", "says"), [(" --comment='a", "not closed"), (" : -n2", "`:`"), (" -n2 :x", "`:`")]
)
def test_lines_that_sbatch_stops_at_are_named(line, says):
    with pytest.raises(ScriptError, match=says) as caught:
        split(line, where="line 7")
    assert str(caught.value).startswith("line 7: ")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("", "empty"),
        (" \n\n", "empty"),
        ("echo hi\n", "#!"),
        ("\n#!/bin/sh\n", "#!"),
        ("#!/bin/sh\r\necho\r\n", "DOS"),
        ("#!/bin/sh\n\0\n", "NUL"),
    ],
)
def test_what_is_no_script_is_said(script, says):
    with pytest.raises(ScriptError, match=says):
        check_shape(script)


def test_lines_for_other_batch_systems_are_found():
    assert foreign("#!/bin/sh\n#PBS -l x\n") == "line 2"
    assert foreign("#!/bin/sh\n#SBATCH -n2\n") == ""
