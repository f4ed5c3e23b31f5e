"""The end of the demo: what was checked, the figures, and how to go on."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from k8s_bridge.sandbox.world import Verdict, World
from k8s_bridge.sandbox.world.timeline import Timeline


def outcome(timeline: Timeline, verdicts: Sequence[Verdict], *, seconds: float) -> RenderableType:
    """The invariants as a table, and one line of figures."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("", "INVARIANT", "EVIDENCE"):
        table.add_column(column, overflow="fold")
    for verdict in verdicts:
        mark = Text("✔", style="green") if verdict.holds else Text("✘", style="bold red")
        table.add_row(
            mark, Text(verdict.name), Text(verdict.evidence, style="dim" if verdict.holds else "red")
        )
    return Group(Text(), table, Text(), Text(_figures(timeline, seconds), style="bold"))


def _figures(timeline: Timeline, seconds: float) -> str:
    preempted = sum(eviction.reason == "Preempted" for eviction in timeline.evictions)
    requeued = sum(job.restarts for job in timeline.jobs.values())
    return (
        f"{len(timeline.jobs)} Slurm jobs, {len(timeline.plain_jobs)} Kubernetes Job(s), "
        f"{len(timeline.starts)} starts, {preempted} preemption(s), {requeued} requeue(s), {seconds:.1f} s"
    )


def write_environment(world: World) -> Path:
    """A file for a shell to source: where the API server, the bridge and Slurm's commands are."""
    path = world.config.directory / "env"
    lines = [
        f"export KUBECONFIG={shlex.quote(str(world.kubeconfig))}",
        f"export K8S_BRIDGE_ADDRESS={world.bridges[0].address}",
    ]
    if world.slurm.commands is not None:
        lines.append(f'export PATH={shlex.quote(str(world.slurm.commands))}:"$PATH"')
    partial = path.with_suffix(".partial")
    partial.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return partial.replace(path)


def invitation(world: World, environment: Path) -> RenderableType:
    """How to connect to a world that stays up."""
    lines = [
        "",
        "Everything stays up until Ctrl-C. In another terminal:",
        f"  source {environment}",
        "  kubectl get jobsets,workloads,pods",
        "  k8s-bridge top",
        *_slurm_lines(world),
        f"Logs: {world.config.directory}",
    ]
    return Text("\n".join(lines))


def _slurm_lines(world: World) -> list[str]:
    if world.slurm.commands is None:
        token, url = world.slurm.token_file, f"{world.slurm.rest_url}/slurm/v0.0.42/jobs"
        return [f'  curl -H "X-SLURM-USER-TOKEN: $(cat {token})" {url}']
    return ["  sbatch --hold --partition=batch --ntasks=2 --wrap 'sleep 10'; squeue"]
