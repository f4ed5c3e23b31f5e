"""The options that a record shows are those that made it: read again they ask for the same."""

from __future__ import annotations

import shlex
from itertools import islice

import pytest
from support.layout_sets import Case, cases

from k8s_bridge.slurm.layout import Layout, Refusal, plan
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.script import Fate, Identity, ScriptError, effects, given_of, read
from k8s_bridge.slurm.script.submission import Component


def submitted(words: list[str]) -> Job:
    (component,) = read("#!/bin/sh\n", environment={}, arguments=words, identity=Identity(partition="all"))
    return component.job


def shown(job: Job) -> list[str]:
    return [given.typed.text for given, _ in given_of(job)]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("-N2 -n4", ["--partition=all", "--nodes=2", "--ntasks=4"]),
        ("--mem=4G", ["--partition=all", "--mem=4096M"]),
        ("--mem=0", ["--partition=all", "--mem=0"]),
        ("-N1-3 -c2", ["--partition=all", "--nodes=1-3", "--cpus-per-task=2", "--tres-per-task=cpu=2"]),
        ("--gres=gpu:a100:2", ["--partition=all", "--gres=gres/gpu:a100:2"]),
        ("--exclusive -t 90 --no-requeue", ["--partition=all", "--exclusive", "--time=90", "--no-requeue"]),
        ("-d singleton -C 'a&b'", ["--partition=all", "--constraint=a&b", "--dependency=singleton"]),
    ],
)
def test_options_are_shown_as_they_would_be_typed(words: str, options: list[str]) -> None:
    found = [text for text in shown(submitted(shlex.split(words))) if text != "--ntasks=1"]
    assert [text for text in found if text != "--ntasks=2" or "-n" in words] == options


def test_what_was_refused_is_told_beside_its_option() -> None:
    job = submitted(["--tmp=10G"])
    refusal = Refusal(option="--tmp", text="No.")
    told = {e.option: e.fate for e in effects(Component(job=job, given=given_of(job)), refusal)}
    assert told["--tmp=10240"] is Fate.REFUSED


def plans(case: Case) -> tuple[Layout | Refusal, Layout | Refusal]:
    """From the words, and from the options that the record of them shows."""
    job = submitted(shlex.split(" ".join(case.options)))
    records = (job, submitted(shown(job)))
    first, again = (plan(one, node_shape=case.virtual, exclusive=case.exclusive) for one in records)
    return first, again


def test_read_again_they_ask_for_the_same() -> None:
    tried, different = 0, []
    for case in islice(cases(5), 500):
        try:
            first, again = plans(case)
        except ScriptError:
            continue  # sbatch refuses it, or refuses beside each other what is one thing in a record
        tried += isinstance(first, Layout)
        if first != again and isinstance(first, Layout):
            different.append((str(case), first, again))
    assert different == []
    assert tried > 200
