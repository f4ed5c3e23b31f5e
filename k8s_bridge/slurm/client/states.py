"""`jobs/state/`: rows of `id`, `id_task` or `id+offset` and states."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from k8s_bridge.core.errors import Retry
from k8s_bridge.slurm.client.results import Glance
from k8s_bridge.slurm.client.wire_job import words

_ID = re.compile(r"(\d+)(?:_(\d+))?")


class _Row(msgspec.Struct):
    job_id: str | int
    state: str | tuple[str, ...]


class _Answer(msgspec.Struct):
    jobs: msgspec.Raw


_answer = msgspec.json.Decoder(_Answer)
_rows = msgspec.json.Decoder(tuple[_Row, ...])


class States:
    """Reads answers one after the other; rows that are the same as the last time are not read again."""

    def __init__(self) -> None:
        self._raw = b""
        self._by_id: Mapping[int, Glance] = {}

    def read(self, body: bytes) -> Mapping[int, Glance]:
        """What is said of each job id. Retry when the answer cannot be read."""
        try:
            raw = bytes(_answer.decode(body).jobs)
            if raw != self._raw:
                self._by_id = _by_id(_rows.decode(raw))
                self._raw = raw
        except msgspec.MsgspecError as error:
            raise Retry(f"Slurm GET jobs/state/: an answer that cannot be read: {error}") from error
        return self._by_id


def _by_id(rows: tuple[_Row, ...]) -> Mapping[int, Glance]:
    """A waiting array has a row a task, all with the array's id: they are joined."""
    states: dict[int, frozenset[str]] = {}
    tasks: dict[int, list[int]] = {}
    for row in rows:
        match = _ID.match(str(row.job_id))
        if match is not None:
            number, now = int(match.group(1)), words(row.state)
            states[number] = states[number] | now if number in states else now
            if match.group(2):
                tasks.setdefault(number, []).append(int(match.group(2)))
    return {number: Glance(now, frozenset(tasks.get(number, ()))) for number, now in states.items()}
