from __future__ import annotations

import importlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from k8s_bridge.slurm.plugin.lua import quote
from k8s_bridge.slurm.plugin.partitions import Partition
from k8s_bridge.slurm.plugin.script import job_submit

LUAS = {
    version: importlib.import_module(f"lupa.{version}").LuaRuntime(encoding=None)
    for version in ("lua51", "lua52", "lua53", "lua54")
}
HOSTILE = (
    '"]=true} os.exit() --',
    "]]",
    "\\",
    '\\"',
    "a\nb",
    "a\r\nb",
    "\0",
    "\x1a",
    "é",
    "1",
    '\\065"',
    "--[[",
)


@given(text=st.text())
@example(text="\0001")
@example(text='"..os.exit().."')
def test_any_text_is_the_same_text_in_lua(text: str) -> None:
    for lua in LUAS.values():
        assert lua.eval(f"{quote(text)}".encode()) == text.encode()


@given(text=st.text())
def test_a_quoted_text_is_one_line_of_printable_ascii(text: str) -> None:
    quoted = quote(text)
    assert quoted.isascii()
    assert quoted.isprintable()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_partition_name_is_a_key_and_nothing_more(name: str) -> None:
    source = job_submit([Partition(name=name), Partition(name="batch", met=frozenset({name}))])
    for lua in LUAS.values():
        probe = source.replace("local MANAGED", "MANAGED").encode()
        lua.execute(b"slurm = {}\n" + probe)
        managed = dict(lua.globals()[b"MANAGED"].items())
        assert set(managed) == {name.encode(), b"batch"}
        assert dict(managed[b"batch"].items()) == {name.encode(): True}
