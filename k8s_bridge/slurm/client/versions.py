"""What each version of the REST API can do: one small map a version."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Can(Enum):
    """What not every version can do."""

    STATES = auto()
    """`jobs/state/`: ids and states only, 100 times cheaper than a listing."""
    JOBS_SINCE = auto()
    """`jobs?update_time=`; v0.0.40 and v0.0.41 refuse the parameter (9202)."""
    NODES_SINCE = auto()
    """`nodes?update_time=`; v0.0.38 answers "unchanged" with an error of no number."""
    NODES_BULK = auto()
    """One update for many nodes."""
    NODES_WRITE = auto()
    """Update and delete of nodes at all."""
    SIGNAL_STEPS = auto()
    """Signals to the steps of a job alone; others send them to its script as well, which few expect."""
    ADMIN_COMMENT = auto()
    EXCLUSIVE = auto()
    """Whether a held --exclusive job can be told from a plain one."""
    STRUCTURED = auto()
    """Bodies with `{set, infinite, number}` numbers and lists; v0.0.38 takes plain numbers and words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One version. `slash` ends the paths of collections."""

    name: str
    can: frozenset[Can]
    slash: str = "/"

    def collection(self, path: str) -> str:
        """The path of a collection, below the version."""
        return path + self.slash


_SINCE_23_02 = frozenset({Can.NODES_WRITE, Can.ADMIN_COMMENT, Can.EXCLUSIVE, Can.STRUCTURED})
_SINCE_23_11 = _SINCE_23_02 | {Can.SIGNAL_STEPS}
_SINCE_24_11 = _SINCE_23_11 | {Can.STATES, Can.JOBS_SINCE, Can.NODES_SINCE, Can.NODES_BULK}

PREFERRED = (
    Api(name="v0.0.44", can=_SINCE_24_11),
    Api(name="v0.0.43", can=_SINCE_24_11),
    Api(name="v0.0.42", can=_SINCE_24_11),
    # Newer, but `shared` is always empty in it, and every slurmrestd that has it has v0.0.44 too.
    Api(name="v0.0.45", can=_SINCE_24_11 - {Can.EXCLUSIVE}),
    Api(name="v0.0.41", can=_SINCE_23_11),
    Api(name="v0.0.40", can=_SINCE_23_11),
    Api(name="v0.0.39", can=_SINCE_23_02),
    Api(name="v0.0.38", can=frozenset({Can.JOBS_SINCE, Can.EXCLUSIVE}), slash=""),
)
"""All versions that are spoken, the best first."""

BY_NAME = {api.name: api for api in PREFERRED}
