"""Which tests go beside each other: the testbed has room for one world with Slurm and one Ray cluster."""

from __future__ import annotations

from pathlib import PurePath

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]


class Lanes(LoadScopeScheduling):  # type: ignore[misc]
    """Ray's tests one after another in one process, all others in another one."""

    def _split_scope(self, nodeid: str) -> str:
        path = PurePath(nodeid.partition("::")[0])
        return "ray" if path.parent.name == "ray" or "_ray" in path.stem else "slurm"
