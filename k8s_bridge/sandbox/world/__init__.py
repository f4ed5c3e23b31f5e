"""A whole world on loopback for tests and the demo: Kubernetes, Kueue, Slurm, and the bridge as a process."""

from __future__ import annotations

from k8s_bridge.sandbox.world.bridge import BridgeProcess
from k8s_bridge.sandbox.world.config import Backend, Pace, Sharing, WorldConfig
from k8s_bridge.sandbox.world.invariants import Verdict, check, check_now
from k8s_bridge.sandbox.world.pulse import Unmet
from k8s_bridge.sandbox.world.requests import JobRequest
from k8s_bridge.sandbox.world.world import World

__all__ = [
    "Backend",
    "BridgeProcess",
    "JobRequest",
    "Pace",
    "Sharing",
    "Unmet",
    "Verdict",
    "World",
    "WorldConfig",
    "check",
    "check_now",
]
