"""`k8s-bridge explain JOB`: where one unit stands, on what facts, and what happens next."""

from __future__ import annotations

import time

import click
from rich.console import Console

from k8s_bridge.cli.bridge_at import bridge_options
from k8s_bridge.cli.completion import complete_jobs
from k8s_bridge.cli.output import EXIT_HELP, Exit, emit, fail, output_option
from k8s_bridge.cli.remote import Remotes
from k8s_bridge.cli.tables import render_detail


@click.command(epilog=EXIT_HELP, short_help="One job: its state, the facts, the next step.")
@click.argument("job", shell_complete=complete_jobs)
@bridge_options
@output_option
def explain(*, job: str, remotes: Remotes, form: str | None) -> None:
    """Explain JOB (a Slurm job id such as 42, 42_3 or 42+1, or a RayJob's name): state, facts, next step."""
    details = remotes.unit(job)
    if not details:
        fail(
            f"job {job} is not known to the bridge at {remotes.address}. Either it is over, or its\n"
            "partition is among no partitionMappings (of a RayJob: its cluster among no managedClusters):\n"
            f"`scontrol show job {job}`, `kubectl get rayjob {job}` and `k8s-bridge top` tell.",
            code=Exit.UNKNOWN_UNIT,
        )
    if form is not None:
        emit(details, form)
        return
    console = Console()
    for detail in details:
        console.print(render_detail(detail, now=time.time()))
