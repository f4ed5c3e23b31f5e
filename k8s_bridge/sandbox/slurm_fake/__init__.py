"""slurmctld and slurmrestd without either: their behaviour in this process, over real HTTP."""

from __future__ import annotations

from k8s_bridge.sandbox.slurm_fake.cluster import Settings
from k8s_bridge.sandbox.slurm_fake.errors import Errno, SlurmError
from k8s_bridge.sandbox.slurm_fake.fake import FakeSlurm
from k8s_bridge.sandbox.slurm_fake.faults import Fault, FaultRule

__all__ = ["Errno", "FakeSlurm", "Fault", "FaultRule", "Settings", "SlurmError"]
