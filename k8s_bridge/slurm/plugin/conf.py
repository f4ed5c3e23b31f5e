"""Lines for slurm.conf, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from api.v1alpha1.workloadmixing import WorkloadMixing
from k8s_bridge.core import naming
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
    mixings: Sequence[WorkloadMixing],
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
    return "\n".join((_HEAD, *settings, _partitions(mixings)))


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


def _partitions(mixings: Iterable[WorkloadMixing]) -> str:
    return "\n".join((_PARTITIONS, *(line for one in mixings for line in _of_mixing(one)), ""))


def _of_mixing(mixing: WorkloadMixing) -> Iterator[str]:
    """A set of the nodes of one WorkloadMixing, and its partitions made of nothing else."""
    meta = mixing.metadata
    name = f"{meta.namespace}-{meta.name}-nodes"
    yield "# Exactly the nodes that this WorkloadMixing makes."
    yield f"NodeSet={name} Feature={naming.mixing_feature(meta.namespace, meta.name)}"
    for mapping in mixing.spec.partition_mappings:
        yield f"# PartitionName={mapping.partition_name} Nodes={name} State=UP MaxTime=INFINITE"


_PARTITIONS = """\
# Nodes of the bridge carry a feature of their WorkloadMixing, so a NodeSet holds them although they do not
# exist yet. Managed partitions take that set; every other partition must not: with Nodes=ALL its jobs could
# start on nodes that Kueue gave to somebody else. Jobs are pinned by one more feature, nodes-for-<id>."""
