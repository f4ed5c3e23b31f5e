"""The largest layout that is asked for. More is refused by name: a clamped request would never start."""

from __future__ import annotations

MAX_NODES = 10_000
MAX_CPUS = 4_096
"""CPUs of one node."""
MAX_MEMORY = 64 * 1024 * 1024
"""MiB of one node (64 TiB)."""
MAX_GRES = 65_535
"""Count of one GRES on one node."""
