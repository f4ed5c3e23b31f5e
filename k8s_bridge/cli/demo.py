"""`k8s-bridge demo`: the main job at work, before your eyes, with nothing but this machine."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click
from rich.console import Console

from k8s_bridge.cli.demo_choice import Choice, SlurmChoice, choose
from k8s_bridge.cli.demo_end import invitation, outcome, write_environment
from k8s_bridge.cli.demo_ray import SPEC, RayStory
from k8s_bridge.cli.demo_screen import Screen
from k8s_bridge.cli.demo_story import Story
from k8s_bridge.cli.output import EXIT_HELP, Exit, emit, fail, output_option
from k8s_bridge.sandbox.slurm_real.release import RELEASES
from k8s_bridge.sandbox.world import Unmet, Verdict, World, WorldConfig, check

_WIDTH = 110
"""Columns where the output is no terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """What is shown: `acts` one after the other, each of about so many `seconds`."""

    directory: Path
    seconds: int
    acts: tuple[type[Story | RayStory], ...]
    begun: float = field(default_factory=time.time)


@click.command(epilog=EXIT_HELP, short_help="A cluster in a box: jobs, priorities, a preemption.")
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
    "--directory",
    type=click.Path(path_type=Path),
    default=None,
    help="Where its files lie while it runs; must not be there yet. Else a temporary folder.",
)
@click.option(
    "--seconds",
    type=click.IntRange(10, 600),
    default=20,
    show_default=True,
    help="About how long the jobs take together.",
)
@click.option("--ray", is_flag=True, help="A second act: a Ray job in a shared RayCluster.")
@output_option
def demo(  # noqa: PLR0913 - one for each option
    *,
    slurm: str,
    release: str | None,
    keep: bool,
    directory: Path | None,
    seconds: int,
    ray: bool,
    form: str | None,
) -> None:
    """Show two teams share one queue: Slurm jobs, a Kubernetes Job, and a preemption.

    Starts a Kubernetes API, Kueue, Slurm and the bridge on loopback, and leaves nothing behind. At the end
    the invariants are checked: the exit code is 0 only if all of them hold.
    """
    chosen = choose(SlurmChoice(slurm), release)
    console = Console(stderr=form is not None)
    if not console.is_terminal:
        console = Console(stderr=form is not None, width=_WIDTH)
    place = _made(directory)
    try:
        play = Play(directory=place, seconds=seconds, acts=(Story, RayStory) if ray else (Story,))
        verdicts = asyncio.run(_run(chosen, console, play, keep=keep))
    except (Unmet, RuntimeError) as error:
        fail(f"{error}\nThe logs are in {place}.", code=Exit.FAILED)
    except (KeyboardInterrupt, asyncio.CancelledError):
        shutil.rmtree(place, ignore_errors=True)
        raise click.Abort from None
    if form is not None:
        emit([asdict(verdict) for verdict in verdicts], form)
    if not all(verdict.holds for verdict in verdicts):
        fail(f"not every invariant holds. The logs are in {place}.", code=Exit.FAILED)
    shutil.rmtree(place, ignore_errors=True)


def _made(wanted: Path | None) -> Path:
    """A folder of the demo's own, which it removes at its end; Slurm's daemons of other users read it."""
    try:
        if wanted is None:
            place = Path(tempfile.mkdtemp(prefix="k8s-bridge-demo-"))
        else:
            place = wanted.resolve()
            place.mkdir(parents=True)
        place.chmod(0o755)
    except FileExistsError:
        fail(f"--directory: {wanted} is there already; name one that is not.", code=Exit.USAGE)
    except OSError as error:
        fail(f"--directory: {error}", code=Exit.USAGE)
    return place


async def _run(chosen: Choice, console: Console, play: Play, *, keep: bool) -> list[Verdict]:
    _end_on_signals()
    config = WorldConfig(
        directory=play.directory,
        slurm=chosen.backend,
        release=chosen.release,
        spec=SPEC if RayStory in play.acts else {},
    )
    console.print(chosen.text, style="dim", highlight=False)
    async with World.start(config) as world:
        verdicts = await _show(world, console, chosen, play)
        if keep:
            environment = write_environment(world)
            console.print(invitation(world, environment))
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
    return verdicts


def _end_on_signals() -> None:
    """A terminal that is closed, or a supervisor, leaves as little behind as Ctrl-C does."""
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)


async def _show(world: World, console: Console, chosen: Choice, play: Play) -> list[Verdict]:
    screen = Screen(world, console, title=chosen.title, begun=play.begun)
    async with screen.shown():
        for act in play.acts:
            await act(world, say=screen.say, scale=play.seconds / 20).tell()
            timeline = await world.until_quiet(seconds=play.seconds + 30)
    verdicts = check(timeline)
    console.print(outcome(timeline, verdicts, seconds=time.time() - play.begun))
    return verdicts
