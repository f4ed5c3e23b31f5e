"""`k8s-bridge slurm-plugin`: the files that Slurm's own side of the bridge consists of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from api.problems import InvalidWorkloadMixing
from api.v1alpha1.workloadmixing import WorkloadMixing
from k8s_bridge.cli.cluster import ask, cluster_options, server_of
from k8s_bridge.cli.completion import complete_mixings
from k8s_bridge.cli.documents import slurm_mixing_of, with_slurm
from k8s_bridge.cli.output import EXIT_HELP, Exit, emit, fail, output_option
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime.sources import MixingObject, read_object
from k8s_bridge.slurm.plugin import MARK, File, Unusable, bundle

_MAX_NODES = 4096
_HEAD_LINES = 2
_NAME = "namespace/name"
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(epilog=EXIT_HELP, short_help="job_submit.lua and lines for slurm.conf.")
@click.option("--config", "paths", type=_FILE, multiple=True, help="File with a WorkloadMixing; repeatable.")
@click.option(
    "--workloadmixing",
    "names",
    metavar=_NAME,
    multiple=True,
    shell_complete=complete_mixings,
    help="One in a cluster; repeatable.",
)
@cluster_options
@click.option("--nudge-url", default="", help="Address of the bridge's HTTP server: makes nudges.")
@click.option(
    "--max-node-count",
    type=click.IntRange(1, 65_533),
    default=_MAX_NODES,
    show_default=True,
    help="Nodes that slurmctld may know, static ones included.",
)
@click.option("--directory", type=click.Path(path_type=Path, file_okay=False), help="Write the files here.")
@click.option("--print", "printed", is_flag=True, help="Print the files instead.")
@output_option
def slurm_plugin(  # noqa: PLR0913 - one for each option
    *,
    paths: tuple[Path, ...],
    names: tuple[str, ...],
    kubeconfig: str,
    context: str,
    nudge_url: str,
    max_node_count: int,
    directory: Path | None,
    printed: bool,
    form: str | None,
) -> None:
    """Make job_submit.lua and lines for slurm.conf from WorkloadMixings.

    Give every WorkloadMixing of one Slurm cluster: slurmctld has one job_submit.lua. Users then need no
    --hold, and what cannot be met is refused by sbatch itself. Read the files, then copy them to the folder
    of slurm.conf.
    """
    if not (paths or names):
        fail("give --config FILE or --workloadmixing namespace/name.", code=Exit.USAGE)
    if (directory is None) == (not (printed or form)):
        fail("give either --directory or --print (or --output).", code=Exit.USAGE)
    if nudge_url and not nudge_url.startswith(("http://", "https://")):
        fail(f"--nudge-url: {nudge_url!r} is no URL; write for example http://bridge:8080.", code=Exit.USAGE)
    mixings = [*map(slurm_mixing_of, paths), *_from_cluster(names, kubeconfig=kubeconfig, context=context)]
    try:
        files = bundle(mixings, max_nodes=max_node_count, nudge=nudge_url)
    except Unusable as error:
        fail(str(error), code=Exit.USAGE)
    if form is not None:
        emit([{"name": file.name, "mode": f"{file.mode:o}", "text": file.text} for file in files], form)
    elif directory is None:
        _print(files)
    else:
        _write(files, directory)


def _from_cluster(names: Sequence[str], *, kubeconfig: str, context: str) -> list[WorkloadMixing]:
    for name in names:
        if name.count("/") != 1 or not all(name.split("/")):
            fail(f"--workloadmixing: {name!r} is not {_NAME}; write for example hpc/main.", code=Exit.USAGE)
    if not names:
        return []

    async def fetch(client: KubeClient) -> list[MixingObject]:
        pairs = (full.partition("/") for full in names)
        return [await client.get(MixingObject, name=name, namespace=place) for place, _, name in pairs]

    return [_read(found) for found in ask(server_of(kubeconfig, context=context), fetch)]


def _read(found: MixingObject) -> WorkloadMixing:
    try:
        return with_slurm(read_object(found), where=found.key)
    except InvalidWorkloadMixing as error:
        fail("\n".join(f"{found.key}: {problem}" for problem in error.problems), code=Exit.USAGE)


def _print(files: Sequence[File]) -> None:
    for file in files:
        click.echo(f"==> {file.name} <==\n{file.text}")


def _write(files: Sequence[File], directory: Path) -> None:
    """All or none: somebody else's file of the same name is not written over."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for file in files:
            path = directory / file.name
            if path.exists() and not _is_ours(path):
                fail(
                    f"{path} is not one of ours; choose another --directory and merge by hand.",
                    code=Exit.USAGE,
                )
        for file in files:
            _replace(directory / file.name, file)
            click.echo(directory / file.name)
    except OSError as error:
        fail(f"--directory: {error}", code=Exit.FAILED)


def _is_ours(path: Path) -> bool:
    head = path.read_text(encoding="utf-8", errors="replace").splitlines()[:_HEAD_LINES]
    return any(MARK in line for line in head)


def _replace(path: Path, file: File) -> None:
    """In one step: slurmctld may read the file at any moment."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(file.text, encoding="utf-8")
    partial.chmod(file.mode)
    partial.replace(path)
