from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import click
import pytest
from rich.console import Console

from k8s_bridge.cli import demo_choice
from k8s_bridge.cli.demo_choice import SlurmChoice, choose
from k8s_bridge.cli.demo_end import outcome
from k8s_bridge.sandbox.world import Backend, Verdict
from k8s_bridge.sandbox.world.timeline import Timeline


async def test_the_demo_shows_a_preemption_and_checks_every_invariant(tmp_path: Path):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "k8s_bridge.cli.main", "demo", "--slurm", "fake", "--seconds", "10",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    out, _ = await process.communicate()
    text = out.decode()

    assert process.returncode == 0, text
    assert text.count("✔") == 7
    assert "✘" not in text
    assert re.search(r"Kueue preempts job \d for the urgent job 6", text)
    assert "insufficient unused quota for cpu" in text
    assert "Refused: --tmp" in text
    assert re.search(r"6 Slurm jobs, 1 Kubernetes Job\(s\), \d+ starts, 1 preemption\(s\), 1 requeue", text)
    assert not any(os.scandir(tmp_path))


def test_a_violated_invariant_is_marked():
    verdicts = [
        Verdict(name="good", holds=True, evidence="x"),
        Verdict(name="bad", holds=False, evidence="y"),
    ]
    console = Console(width=80)
    with console.capture() as captured:
        console.print(outcome(Timeline(begun=0.0), verdicts, seconds=1.0))

    assert re.search(r"✔\s+good", captured.get())
    assert re.search(r"✘\s+bad", captured.get())


def test_real_slurm_that_cannot_run_here_is_an_error_with_the_next_step(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(demo_choice, "available", lambda _: "real Slurm daemons need root")

    with pytest.raises(click.ClickException, match=r"need root.*\n.*--slurm fake"):
        choose(SlurmChoice.REAL, None)


def test_auto_takes_the_fake_and_says_why_when_nothing_is_installed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(demo_choice, "available", lambda _: "")
    monkeypatch.setattr(demo_choice, "installed", lambda _: False)

    chosen = choose(SlurmChoice.AUTO, None)

    assert chosen.backend is Backend.FAKE
    assert "--slurm real fetches them" in chosen.text


def test_auto_takes_the_release_that_is_installed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(demo_choice, "available", lambda _: "")
    monkeypatch.setattr(demo_choice, "installed", lambda name: name == "22.05")

    chosen = choose(SlurmChoice.AUTO, None)

    assert (chosen.backend, chosen.release) == (Backend.REAL, "22.05")
