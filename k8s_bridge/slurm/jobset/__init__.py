"""The JobSet that asks Kueue for a job's capacity."""

from __future__ import annotations

from k8s_bridge.slurm.jobset.check import check_template
from k8s_bridge.slurm.jobset.conf import slurm_conf
from k8s_bridge.slurm.jobset.manifest import render_components, render_jobset
from k8s_bridge.slurm.jobset.policy import Policy, policy_of
from k8s_bridge.slurm.jobset.resources import unmapped

__all__ = [
    "Policy",
    "check_template",
    "policy_of",
    "render_components",
    "render_jobset",
    "slurm_conf",
    "unmapped",
]
