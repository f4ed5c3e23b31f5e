from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from k8s_bridge.runtime import memory
from k8s_bridge.runtime.controller import Outcome, Result
from k8s_bridge.runtime.settings import Bind, Settings, SettingsError


@pytest.mark.parametrize(
    ("text", "bind"),
    [
        ("127.0.0.1:0", Bind(host="127.0.0.1", port=0)),
        (":8080", Bind(host="0.0.0.0", port=8080)),
        ("[::1]:9", Bind(host="::1", port=9)),
    ],
)
def test_addresses(text, bind):
    assert Bind.parse(text) == bind


@pytest.mark.parametrize("text", ["", "8080", "host:", "host:http", "host:70000"])
def test_bad_addresses_say_how_to_write_one(text):
    with pytest.raises(SettingsError, match=r"--http: .*0\.0\.0\.0:8080"):
        Bind.parse(text)


@pytest.mark.parametrize("name", ["main", "/main", "hpc/", "a/b/c"])
def test_a_workloadmixing_is_named_with_its_namespace(name):
    with pytest.raises(SettingsError, match="--workloadmixing"):
        Settings(workloadmixing=name)


def test_a_file_and_a_resource_exclude_each_other():
    with pytest.raises(SettingsError, match="--config"):
        Settings(workloadmixing="hpc/main", config=Path("x"))


OPEN = Outcome(controller="a", key=None, result=Result.GATE, state="open")


@pytest.fixture
def _restore_gc():
    thresholds = gc.get_threshold()
    yield
    gc.enable()
    gc.unfreeze()
    gc.set_threshold(*thresholds)


@pytest.mark.usefixtures("_restore_gc")
def test_the_collector_is_tuned_at_start_and_frozen_when_a_loop_opens():
    memory.tune()
    assert gc.get_threshold() == memory.THRESHOLDS
    memory.freeze_when_open(Outcome(controller="a", key=None, result=Result.GATE, state="blocked"))
    assert gc.get_freeze_count() == 0
    memory.freeze_when_open(OPEN)
    assert gc.get_freeze_count() > 0


class Cycle:
    """Something that is in use no more, but by itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.usefixtures("_restore_gc")
def test_what_ended_between_two_openings_of_a_gate_is_not_kept_for_ever():
    gc.disable()  # it may come by at any moment: then nothing would be left to be frozen
    frozen = Cycle()
    memory.freeze_when_open(OPEN)
    young = Cycle()
    ended = [weakref.ref(frozen), weakref.ref(young)]
    del frozen, young
    memory.freeze_when_open(OPEN)
    assert [ref() for ref in ended] == [None, None]
