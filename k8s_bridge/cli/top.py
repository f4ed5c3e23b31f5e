"""`k8s-bridge top`: every unit, and what each waits for."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable

import click
from rich.console import Console, RenderableType
from rich.live import Live

from k8s_bridge.cli.bridge_at import bridge_options
from k8s_bridge.cli.completion import complete_partitions, complete_users
from k8s_bridge.cli.output import EXIT_HELP, emit, output_option
from k8s_bridge.cli.remote import Remotes
from k8s_bridge.cli.tables import UnitRow, render_units, sort_units

_PIPE_WIDTH = 200
"""A file or pipe has no edge: nothing need be left out."""


@click.command(epilog=EXIT_HELP, short_help="All jobs, live: what each waits for, and why.")
@bridge_options
@output_option
@click.option("--once", is_flag=True, help="Print once and end, instead of refreshing.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1),
    default=1.0,
    show_default=True,
    help="Seconds between looks.",
)
@click.option(
    "--partition", default="", shell_complete=complete_partitions, help="Only units of this Slurm partition."
)
@click.option("--user", default="", shell_complete=complete_users, help="Only units of this user.")
def top(  # noqa: PLR0913 - one argument for each option
    *, remotes: Remotes, form: str | None, once: bool, interval: float, partition: str, user: str
) -> None:
    """Show all units live: state, age, and what each waits for and why."""
    console = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)

    def rows() -> list[UnitRow]:
        everything = remotes.units()
        ours = (r for r in everything if partition in ("", r.partition) and user in ("", r.user))
        return sort_units(ours)

    if form is not None:
        emit(rows(), form)
    elif once or not console.is_terminal:
        console.print(render_units(rows(), now=time.time()))
    else:
        _live(console, lambda: render_units(rows(), now=time.time(), title=remotes.address), seconds=interval)


def _live(console: Console, draw: Callable[[], RenderableType], *, seconds: float) -> None:
    """Draw again every `seconds` until the user has seen enough."""
    with contextlib.suppress(KeyboardInterrupt), Live(draw(), console=console, auto_refresh=False) as live:
        while True:
            time.sleep(seconds)
            live.update(draw(), refresh=True)
