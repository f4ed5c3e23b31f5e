"""The Ray side of `k8s-bridge doctor`: what is set wrongly with KubeRay, Kueue, Ray and the bridge; the cure.

`examine` looks and asks the tables of checks; what a check sees is data (`sight`), and checks are pure.
"""

from __future__ import annotations

from k8s_bridge.ray.doctor.examine import examine
from k8s_bridge.runtime.doctor.subject import Asked, Subject

__all__ = ["Asked", "Subject", "examine"]
