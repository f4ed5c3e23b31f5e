from __future__ import annotations

import pytest

from k8s_bridge.slurm.layout import Exclusive, Refusal, plan
from k8s_bridge.slurm.script import Fate, Identity, effects, read


def told(options, **environment):
    script = f"#!/bin/sh\n#SBATCH {options}\n"
    (component,) = read(script, environment=environment, arguments=("-t", "90"), identity=Identity())
    planned = plan(component.job, node_shape=None, exclusive=Exclusive.AS_ASKED)
    return {effect.option: (effect.fate, effect.text) for effect in effects(component, planned)}


@pytest.mark.parametrize(
    ("options", "option", "text"),
    [
        ("-n8", "--ntasks=8", "8 tasks"),
        ("-N2", "--nodes=2", "2 nodes"),
        ("-N2-4", "--nodes=2-4", "2 to 4 nodes"),
        ("--mem=4G", "--mem=4G", "4096 MiB on each node"),
        ("--mem-per-cpu=1G", "--mem-per-cpu=1G", "1024 MiB for each CPU"),
        ("--gres=gpu:2", "--gres=gpu:2", "gpu:2 on each node"),
        ("--exclusive", "--exclusive", "whole nodes"),
        ("", "--time=90", "time limit of 90 minutes"),
        ("-A Abc", "--account=Abc", "account abc: label, queue rules"),
    ],
)
def test_what_an_option_became(options, option, text):
    assert told(options)[option] == (Fate.COUNTS, text)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ("-w n1", "--nodelist=n1"),
        ("-B 2", "--extra-node-info=2"),
        ("--threads-per-core=2", "--threads-per-core=2"),
        ("--mem=0", "--mem=0"),
        ("--gres-flags=enforce-binding", "--gres-flags=enforce-binding"),
        ("--bbf=stage", "--bbf=stage"),
    ],
)
def test_a_refused_option_is_told_as_it_was_given(options, option):
    fate, text = told(options)[option]
    assert fate is Fate.REFUSED
    assert text


def test_a_refusal_that_no_single_option_caused_is_not_left_out():
    (component,) = read("#!/bin/sh\n", environment={}, arguments=["-n2"], identity=Identity())
    *_, last = effects(component, Refusal(option="--gres", text="No."))
    assert (last.option, last.fate) == ("--gres", Fate.REFUSED)


def test_what_does_nothing_here_is_told_too():
    found = told("-t 5 -o out --foo=1 -v", SBATCH_ACCTG_FREQ="10")
    assert {option: fate for option, (fate, _) in found.items()} == {
        "--time=5": Fate.IGNORED,
        "--output=out": Fate.IGNORED,
        "--foo=1": Fate.UNKNOWN,
        "--verbose": Fate.IGNORED,
        "--acctg-freq=10": Fate.IGNORED,
        "--time=90": Fate.COUNTS,
    }
    assert "overridden" in found["--time=5"][1]
