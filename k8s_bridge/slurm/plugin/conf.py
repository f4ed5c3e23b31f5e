"""Lines for slurm.conf, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable

from api.v1alpha1.workloadmixing import WorkloadMixing
from k8s_bridge.slurm.plugin.partitions import Partition
from k8s_bridge.slurm.plugin.script import MARK

NUDGE_SCRIPT = "k8s-bridge-nudge"
"""File name of the EpilogSlurmctld script."""

_SELECTION = (
    ("JobSubmitPlugins=lua", "Holds and checks jobs of managed partitions as they are submitted."),
    ("SelectType=select/cons_tres", "The only selection that takes dynamic nodes."),
    ("SelectTypeParameters=CR_Core_Memory", "What a job asks for is what its nodes have: cores and memory."),
)
_NODES = (
    ("ReturnToService=2", "A node that registers is usable at once; nobody has to resume it."),
    ("TreeWidth=65533", "slurmctld speaks to each node itself: pods cannot relay for each other."),
)


def slurm_conf(
    mixings: Iterable[WorkloadMixing],
    partitions: Iterable[Partition],
    *,
    max_nodes: int,
    nudge: str,
) -> str:
    """The fragment. `max_nodes`: nodes that slurmctld may know; `nudge`: where the bridge is, or ""."""
    rows = [
        *_SELECTION,
        (f"GresTypes={','.join(_gres(mixings))}", "The GRES that nodes bring along; add your own."),
        (f"MaxNodeCount={max_nodes}", "Room in the node table for static and dynamic nodes together."),
        *_NODES,
        *_nudges(nudge),
    ]
    settings = [f"# {reason}\n{line}\n" for line, reason in rows]
    return "\n".join((_HEAD, *settings, _partitions(partitions)))


_HEAD = f"""\
# Lines for slurm.conf, {MARK}. Merge them: a key that is there twice is an error.
# Changed JobSubmitPlugins, SelectType, GresTypes and MaxNodeCount need a restart of slurmctld.
"""


def _nudges(nudge: str) -> list[tuple[str, str]]:
    epilog, client = f"EpilogSlurmctld=/etc/slurm/{NUDGE_SCRIPT}", "CliFilterPlugins=lua"
    ended = "Tells the bridge that a job has ended; without it the bridge sees that at its next poll."
    if not nudge:
        return [(f"# {epilog}", f"{ended} (--nudge-url makes the script.)")]
    submitted = (
        "Tells the bridge of a job as it is submitted. Only when cli_filter.lua lies beside slurm.conf\n"
        "# on every machine with Slurm's commands (configless clients get it): without it they all fail."
    )
    return [(epilog, ended), (f"# {client}", submitted)]


def _gres(mixings: Iterable[WorkloadMixing]) -> list[str]:
    mapped = {item.gres.partition(":")[0] for one in mixings for item in one.spec.slurmd.gres_resources}
    return sorted(mapped | {"gpu"})


def _partitions(partitions: Iterable[Partition]) -> str:
    lines = [f"# PartitionName={one.name} Nodes=ALL State=UP MaxTime=INFINITE" for one in partitions]
    return "\n".join((_PARTITIONS, *lines, ""))


_PARTITIONS = """\
# Managed partitions take nodes that do not exist yet, so they say Nodes=ALL. Every other partition must list
# its nodes, or take them by a NodeSet with a Feature of its own: with Nodes=ALL its jobs could start on nodes
# that Kueue gave to somebody else. (Nodes of the bridge carry a feature for their one job, nodes-for-<id>,
# and those of its --constraint; jobs are pinned to the first.)"""
