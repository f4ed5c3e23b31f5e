"""The digest that tells whether a waiting job still asks for what its JobSet was made for."""

from __future__ import annotations

import hashlib
import json

from k8s_bridge.slurm.layout.types import Layout

_LENGTH = 16


def digest(layout: Layout) -> str:
    """Sixteen hex digits of all that the JobSet is made from, the time limit included.

    Compare it while the job waits. A running job's time limit may change, and its pods must stay.
    """
    groups = [
        (group.count, group.shape.cpus, group.shape.memory, group.shape.gres, group.shape.whole_node)
        for group in layout.groups
    ]
    text = json.dumps([groups, layout.features, layout.time_limit], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]
