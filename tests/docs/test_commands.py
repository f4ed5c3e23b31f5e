"""Every command in the documents is run here, or says why it is not."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.doc_commands import COMMANDS, LANGUAGES, PAGES, ROOT, blocks, pages_that_run, script

from k8s_bridge.sandbox.slurm_real import available

PROGRAMS = ("make", "helm", "kubectl", "docker", "k8s-bridge", "sbatch", "scontrol", "python3", "git", "curl")
_END_WITHIN = 30
REAL_SLURM = {"tutorial.md"}
"""Pages whose commands are Slurm's own."""


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_says_its_language(page):
    assert {str(block): block.language for block in blocks(page) if block.language not in LANGUAGES} == {}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_stand_in_blocks_of_commands(page):
    hidden = [
        str(block)
        for block in blocks(page)
        if block.language == "text" and "─" not in block.text and block.text.split()[0] in PROGRAMS
    ]
    assert hidden == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_of_commands_is_run_or_says_why_not(page):
    silent = [str(block) for block in blocks(page) if block.language == COMMANDS and not block.marker]
    assert silent == []


def _parameter(page: Path):
    marks = [pytest.mark.slurm, pytest.mark.slow] if page.name in REAL_SLURM else []
    return pytest.param(page, id=name(page), marks=marks)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", [_parameter(page) for page in pages_that_run()])
def test_the_commands_of_a_page_run(page, tmp_path):
    if page.name in REAL_SLURM and (reason := available("22.05") and available("24.11")):
        pytest.skip(reason)
    environment = {
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
    }
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    session_file = tmp_path / "session.sh"
    session_file.write_text(script(page))
    session = subprocess.Popen(
        ["bash", "-x", session_file],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = session.communicate(timeout=250)
    finally:
        _end(session)
    assert session.returncode == 0, said[-6000:]


def _end(session: subprocess.Popen[str]) -> None:
    """What a page leaves running in the background, such as the demo, ends with it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(session.pid, signal.SIGTERM)
        session.wait()
        for _ in range(_END_WITHIN * 10):
            os.killpg(session.pid, 0)
            time.sleep(0.1)
