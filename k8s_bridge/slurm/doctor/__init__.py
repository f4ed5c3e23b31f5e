"""`k8s-bridge doctor`: looks at Kubernetes and Slurm, and says what is wrong, why it hurts, and the cure.

`examine` looks and asks the tables of checks; what a check sees is data (`sight`), and checks are pure.
"""

from __future__ import annotations

from k8s_bridge.runtime.doctor.verdict import Result, Verdict
from k8s_bridge.slurm.doctor.conf import NotAConfiguration, parse
from k8s_bridge.slurm.doctor.examine import Subject, examine
from k8s_bridge.slurm.doctor.look_slurm import Means

__all__ = ["Means", "NotAConfiguration", "Result", "Subject", "Verdict", "examine", "parse"]
