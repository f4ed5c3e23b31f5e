"""Slurm's own side of the bridge, as files for the machine that runs slurmctld. Pure."""

from __future__ import annotations

from k8s_bridge.slurm.plugin.bundle import File, Mode, bundle
from k8s_bridge.slurm.plugin.partitions import Unusable
from k8s_bridge.slurm.plugin.script import MARK

__all__ = ["MARK", "File", "Mode", "Unusable", "bundle"]
