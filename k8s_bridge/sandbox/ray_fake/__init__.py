"""Ray's behaviour in this process: nodes, jobs, and the head's HTTP APIs, as Ray 2.60 shows them."""

from __future__ import annotations

from k8s_bridge.sandbox.ray_fake.head import RayHead
from k8s_bridge.sandbox.ray_fake.heads import Heads, Serving

__all__ = ["Heads", "RayHead", "Serving"]
