"""`jobs/state/`: rows of `id`, `id_task` or `id+offset` and states."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from k8s_bridge.core.errors import Retry
from k8s_bridge.slurm.client.wire_job import words

_ID = re.compile(r"\d+")


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
        self._by_id: Mapping[int, frozenset[str]] = {}

    def read(self, body: bytes) -> Mapping[int, frozenset[str]]:
        """The states by job id. Retry when the answer cannot be read."""
        try:
            raw = bytes(_answer.decode(body).jobs)
            if raw != self._raw:
                self._by_id = _by_id(_rows.decode(raw))
                self._raw = raw
        except msgspec.MsgspecError as error:
            raise Retry(f"Slurm GET jobs/state/: an answer that cannot be read: {error}") from error
        return self._by_id


def _by_id(rows: tuple[_Row, ...]) -> Mapping[int, frozenset[str]]:
    """A waiting array has a row a task, all with the array's id: they are joined."""
    found: dict[int, frozenset[str]] = {}
    for row in rows:
        match = _ID.match(str(row.job_id))
        if match is not None:
            number, states = int(match.group()), words(row.state)
            found[number] = found[number] | states if number in found else states
    return found
