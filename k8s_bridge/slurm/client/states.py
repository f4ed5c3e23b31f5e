"""`jobs/state/`: rows of `id`, `id_task` or `id+offset` and states."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from k8s_bridge.core.errors import Retry
from k8s_bridge.slurm.client.items import Small
from k8s_bridge.slurm.client.wire_job import words

_ID = re.compile(r"\d+")


class _Row(msgspec.Struct):
    job_id: str | int
    state: str | tuple[str, ...]


class _Rows(msgspec.Struct):
    jobs: tuple[_Row, ...]


class States(Small):
    """The states by job id. A waiting array has a row a task, all with the array's id: they are joined."""

    def by_id(self) -> Mapping[int, frozenset[str]]:
        """Retry when the answer cannot be read."""
        try:
            rows = msgspec.json.decode(self.body, type=_Rows).jobs
        except msgspec.MsgspecError as error:
            raise Retry(f"Slurm GET jobs/state/: an answer that cannot be read: {error}") from error
        found: dict[int, frozenset[str]] = {}
        for row in rows:
            match = _ID.match(str(row.job_id))
            if match is not None:
                number, states = int(match.group()), words(row.state)
                found[number] = found[number] | states if number in found else states
        return found
