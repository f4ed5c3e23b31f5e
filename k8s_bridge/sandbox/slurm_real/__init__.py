"""Private clusters of real Slurm daemons in a directory, for tests and the demo."""

from __future__ import annotations

from k8s_bridge.sandbox.slurm_real.cluster import RealSlurm
from k8s_bridge.sandbox.slurm_real.release import available, installed
from k8s_bridge.sandbox.slurm_real.slurmd import SlurmdProcess
from k8s_bridge.sandbox.slurm_real.world import CommandFailed

__all__ = ["CommandFailed", "RealSlurm", "SlurmdProcess", "available", "installed"]
