"""`make testbed` may be killed at any moment, and run again at once."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
HOLDER = """
import subprocess
from testbed.locks import lock
with lock("trial"):
    quiet = subprocess.DEVNULL
    child = subprocess.Popen(["sleep", "600"], stdout=quiet, stderr=quiet)
    print(child.pid, flush=True)
    child.wait()
"""
NEXT = """
from testbed.locks import lock
with lock("trial"):
    print("mine")
"""


@pytest.fixture
def python(tmp_path):
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(TESTS)}

    def start(script: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-c", script]
        return subprocess.Popen(argv, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    return start


def test_a_killed_holders_commands_end_before_the_next_holder_begins(python):
    holder = python(HOLDER)
    orphan = os.pidfd_open(int(holder.stdout.readline()))
    holder.kill()
    holder.communicate()

    out, error = python(NEXT).communicate()

    assert (out, error) == ("mine\n", "")
    assert select.select([orphan], [], [], 0)[0], "the orphan still runs"
    os.close(orphan)


def test_who_waits_is_told_so_and_gets_the_lock_when_it_is_free(python):
    holder = python(HOLDER)
    child = int(holder.stdout.readline())
    waiting = python(NEXT)
    told = waiting.stderr.readline()
    os.kill(child, 9)
    holder.communicate()

    assert "another trial of the testbed is under way" in told
    assert waiting.communicate()[0] == "mine\n"
