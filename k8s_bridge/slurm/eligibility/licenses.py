"""What a job asks for with --licenses."""

from __future__ import annotations

from collections.abc import Mapping


def asked(licenses: str) -> Mapping[str, int]:
    """How many of which, from `matlab:2,fea`. Empty for an alternative (`a|b`): only Slurm can choose."""
    if not licenses or "|" in licenses:
        return {}
    pairs = (part.rpartition(":") if ":" in part else (part, ":", "1") for part in licenses.split(","))
    return {name: int(count) for name, _, count in pairs if name and count.isdecimal()}
