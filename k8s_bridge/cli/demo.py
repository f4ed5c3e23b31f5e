"""`k8s-bridge demo`: the main job at work, before your eyes, with nothing but this machine."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import time
from pathlib import Path

import click
from rich.console import Console

from k8s_bridge.cli.demo_choice import Choice, SlurmChoice, choose
from k8s_bridge.cli.demo_end import invitation, outcome
from k8s_bridge.cli.demo_screen import Screen
from k8s_bridge.cli.demo_story import Story
from k8s_bridge.cli.output import EXIT_HELP, Exit, fail
from k8s_bridge.sandbox.slurm_real.release import RELEASES
from k8s_bridge.sandbox.world import Unmet, Verdict, World, WorldConfig, check

_WIDTH = 110
"""Columns where the output is no terminal."""


@click.command(epilog=EXIT_HELP)
@click.option(
    "--slurm",
    type=click.Choice([choice.value for choice in SlurmChoice]),
    default=SlurmChoice.AUTO.value,
    show_default=True,
    help="fake: slurmctld's behaviour in this process. real: the daemons themselves (root; what is missing "
    "is fetched by apt). auto: real when they are here.",
)
@click.option("--release", type=click.Choice(list(RELEASES)), default=None, help="Slurm's release.")
@click.option("--keep", is_flag=True, help="Leave everything up at the end, until Ctrl-C.")
@click.option(
    "--seconds",
    type=click.IntRange(10, 600),
    default=20,
    show_default=True,
    help="About how long the jobs take together.",
)
def demo(*, slurm: str, release: str | None, keep: bool, seconds: int) -> None:
    """Show two teams share one queue: Slurm jobs, a Kubernetes Job, and a preemption.

    Starts a Kubernetes API, Kueue, Slurm and the bridge on loopback, and leaves nothing behind. At the end
    the invariants are checked: the exit code is 0 only if all of them hold.
    """
    chosen = choose(SlurmChoice(slurm), release)
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    directory = Path(tempfile.mkdtemp(prefix="k8s-bridge-demo-"))
    directory.chmod(0o755)
    try:
        verdicts = asyncio.run(_run(chosen, console, directory=directory, seconds=seconds, keep=keep))
    except (Unmet, RuntimeError) as error:
        fail(f"{error}\nThe logs are in {directory}.", code=Exit.FAILED)
    except KeyboardInterrupt:
        shutil.rmtree(directory, ignore_errors=True)
        raise click.Abort from None
    if not all(verdict.holds for verdict in verdicts):
        fail(f"not every invariant holds. The logs are in {directory}.", code=Exit.FAILED)
    shutil.rmtree(directory, ignore_errors=True)


async def _run(
    chosen: Choice, console: Console, *, directory: Path, seconds: int, keep: bool
) -> list[Verdict]:
    begun = time.time()
    config = WorldConfig(directory=directory, slurm=chosen.backend, release=chosen.release)
    console.print(chosen.text, style="dim", highlight=False)
    async with World.start(config) as world:
        verdicts = await _show(world, console, chosen, seconds=seconds, begun=begun)
        if keep:
            console.print(invitation(world))
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
    return verdicts


async def _show(
    world: World, console: Console, chosen: Choice, *, seconds: int, begun: float
) -> list[Verdict]:
    screen = Screen(world, console, title=chosen.title, begun=begun)
    async with screen.shown():
        story = Story(world, say=screen.say, scale=seconds / 20)
        await story.tell()
        timeline = await world.until_quiet(seconds=seconds + 30)
    verdicts = check(timeline)
    console.print(outcome(timeline, verdicts, seconds=time.time() - begun))
    return verdicts
