"""The digest that tells whether a waiting job still asks for what its JobSet was made for."""

from __future__ import annotations

import hashlib
import json

from k8s_bridge.slurm.layout.types import Layout

_LENGTH = 16


def digest(layout: Layout) -> str:
    """Sixteen hex digits of the shape of all pods.

    The time limit is no part of it: deadlines of Jobs can be changed, and Slurm itself fills limits in.
    """
    groups = [
        (group.count, group.shape.cpus, group.shape.memory, group.shape.gres, group.shape.whole_node)
        for group in layout.groups
    ]
    text = json.dumps([groups, layout.features], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]
