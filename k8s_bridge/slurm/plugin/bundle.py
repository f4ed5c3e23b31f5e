"""All files of the plugin for one Slurm cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from api.v1alpha1.workloadmixing import WorkloadMixing
from k8s_bridge.slurm.plugin.conf import NUDGE_SCRIPT, slurm_conf
from k8s_bridge.slurm.plugin.nudge import at_end, at_submission
from k8s_bridge.slurm.plugin.partitions import partitions_of
from k8s_bridge.slurm.plugin.script import job_submit


class Mode(IntEnum):
    """Permissions of a file."""

    READ = 0o644
    RUN = 0o755


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file."""

    name: str
    text: str
    mode: Mode = Mode.READ


def bundle(mixings: Sequence[WorkloadMixing], *, max_nodes: int, nudge: str) -> tuple[File, ...]:
    """The files for the Slurm cluster that `mixings` share. Unusable when partitions do not go together.

    `nudge` is the address of a running bridge, or "" for no nudges.
    """
    partitions = partitions_of(mixings)
    conf = slurm_conf(mixings, max_nodes=max_nodes, nudge=nudge)
    files = [
        File(name="job_submit.lua", text=job_submit(partitions)),
        File(name="slurm.conf.fragment", text=conf),
    ]
    if nudge:
        files += [
            File(name=NUDGE_SCRIPT, text=at_end(nudge), mode=Mode.RUN),
            File(name="cli_filter.lua", text=at_submission(nudge)),
        ]
    return tuple(files)
