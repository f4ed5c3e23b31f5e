"""The layout engine: what sbatch asked for, as pods. Pure."""

from __future__ import annotations

from k8s_bridge.slurm.layout.digest import digest
from k8s_bridge.slurm.layout.plan import plan
from k8s_bridge.slurm.layout.types import Exclusive, Group, Layout, NodeShape, Refusal, Shape

__all__ = ["Exclusive", "Group", "Layout", "NodeShape", "Refusal", "Shape", "digest", "plan"]
