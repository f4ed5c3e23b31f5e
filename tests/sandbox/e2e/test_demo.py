from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from pathlib import Path

import click
import httpx
import pytest
from click.testing import CliRunner
from rich.console import Console

from k8s_bridge.cli import demo_choice
from k8s_bridge.cli.demo_choice import SlurmChoice, choose
from k8s_bridge.cli.demo_end import outcome
from k8s_bridge.cli.main import main
from k8s_bridge.cli.output import Exit
from k8s_bridge.sandbox.world import Backend, Verdict
from k8s_bridge.sandbox.world.timeline import Timeline


async def test_the_demo_shows_preemptions_of_slurm_and_of_ray_and_checks_every_invariant(tmp_path: Path):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "k8s_bridge.cli.main", "demo", "--slurm", "fake", "--seconds", "10", "--ray",
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
    assert "Kueue preempts RayJob tune for Slurm job 7" in text
    assert "RayJob tune ran again when there was room, and succeeded" in text
    assert re.search(r"7 Slurm jobs, 1 Kubernetes Job\(s\), \d+ starts, 2 preemption\(s\), 1 requeue", text)
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


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_demo_that_stays_up_can_be_used_and_leaves_nothing_behind(
    tmp_path: Path, number: signal.Signals
):
    place = tmp_path / "play"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "k8s_bridge.cli.main", "demo", "--slurm", "fake", "--seconds", "10", "--keep",
        "--directory", str(place), "-o", "json",
        stdout=asyncio.subprocess.PIPE, env={"PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    async with asyncio.timeout(100):
        while not (place / "env").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.1)
    told = dict(
        line.removeprefix("export ").split("=", 1) for line in (place / "env").read_text().splitlines()
    )
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(told["K8S_BRIDGE_ADDRESS"] + "/readyz")
    assert answer.is_success
    assert Path(told["KUBECONFIG"]).exists()  # noqa: ASYNC240
    process.send_signal(number)
    out, _ = await process.communicate()
    assert [verdict["holds"] for verdict in json.loads(out)] == [True] * 7
    assert not place.exists()


def test_a_directory_that_is_there_is_not_touched(tmp_path: Path):
    result = CliRunner().invoke(main, ["demo", "--slurm", "fake", "--directory", str(tmp_path)])
    assert result.exit_code == Exit.USAGE
    assert "is there already; name one that is not" in result.output
