"""slurmrestd's answers: the envelope of meta, errors and warnings around whatever a call returns."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from starlette.responses import PlainTextResponse, Response, StreamingResponse

from k8s_bridge.sandbox.slurm_fake.errors import Errno, SlurmError
from k8s_bridge.sandbox.slurm_fake.versions import RELEASES, records

Items = Sequence[Mapping[str, Any]]
_CHUNK = 200
_FIXED_STATUS = {Errno.JOB_ID: 404, Errno.AUTHENTICATION: 511, Errno.CONTROLLER_AWAY: 502, Errno.REQUEST: 422}


class Envelope:
    """Makes the answers of one release and API version."""

    def __init__(self, *, release: str, version: str, cluster: str) -> None:
        self._release = RELEASES[release]
        self._meta = _meta(self._release.release, version=version, cluster=cluster)

    def answer(
        self, payload: Mapping[str, Any], *, status: int = 200, errors: Items = (), warnings: Items = ()
    ) -> Response:
        """One complete answer."""
        body = {**payload, "meta": self._meta, "errors": list(errors), "warnings": list(warnings)}
        return _json(json.dumps(body, indent=2), status=status)

    def refusal(self, error: SlurmError, payload: Mapping[str, Any], *, text: str, source: str) -> Response:
        """The answer to what slurmctld refused. `text` and `source` are slurmrestd's own words."""
        status = _FIXED_STATUS.get(error.number, self._release.refused)
        item = {"description": text, "error_number": int(error.number), "error": str(error), "source": source}
        return self.answer(payload, status=status, errors=[item])

    def listing(self, key: str, rows: Iterable[str], *, fields: Mapping[str, Any]) -> Response:
        """A list of rendered records, streamed."""
        rest = {**fields, "meta": self._meta, "errors": [], "warnings": []}
        tail = json.dumps(rest, indent=2).removeprefix("{")
        return StreamingResponse(_stream(key, rows, tail=tail), media_type="application/json")


def plain(text: str, *, status: int) -> Response:
    """An answer that is no JSON."""
    return PlainTextResponse(text, status_code=status)


async def _stream(key: str, rows: Iterable[str], *, tail: str) -> AsyncIterator[str]:
    chunk, separator = [], ""
    yield f'{{\n  "{key}": [\n'
    for row in rows:
        chunk.append(row)
        if len(chunk) == _CHUNK:
            yield separator + ",\n".join(chunk)
            chunk, separator = [], ",\n"
    if chunk:
        yield separator + ",\n".join(chunk)
    yield f"\n  ],{tail}"


def _json(text: str, *, status: int) -> Response:
    return Response(text, status_code=status, media_type="application/json")


def _meta(release: str, *, version: str, cluster: str) -> dict[str, Any]:
    major, minor, micro = release.split(".")
    template = records("v0.0.42")["meta"]
    plugin = {**template["plugin"], "data_parser": f"data_parser/{version}"}
    slurm = {
        "version": {"major": major, "micro": micro, "minor": minor},
        "release": release,
        "cluster": cluster,
    }
    return {**template, "plugin": plugin, "slurm": slurm}
