"""The frame of every answer: errors, warnings, times and who answers. One shape takes all API versions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import msgspec

from k8s_bridge.slurm.client.number import AnyNumber, time_of


class WireError(msgspec.Struct, frozen=True):
    """One entry of `errors`; v0.0.38 spells the number in three ways."""

    error_number: int | None = None
    errno: int | None = None
    error_code: int | None = None
    error: str | None = None
    description: str | None = None

    @property
    def code(self) -> int:
        """Slurm's error number; 0 when there is none."""
        return self.error_number or self.errno or self.error_code or 0

    @property
    def text(self) -> str:
        """What it says, for people."""
        return ": ".join(part for part in (self.description, self.error) if part) or "no text"


class KillError(msgspec.Struct, frozen=True):
    """status[].error of a DELETE."""

    code: int = 0
    string: str | None = None


class KillStatus(msgspec.Struct, frozen=True):
    """status[] of a DELETE: there an error comes with 200 and empty `errors`."""

    error: KillError = KillError()


class UpdateResult(msgspec.Struct, frozen=True):
    """results[] of an update: one for each task of an array."""

    error: str | None = None
    error_code: int = 0


class Release(msgspec.Struct, frozen=True):
    """meta.slurm, or meta.Slurm of v0.0.38."""

    release: str = ""
    cluster: str = ""


class Meta(msgspec.Struct, frozen=True):
    """meta."""

    slurm: Release | None = None
    Slurm: Release | None = None


class Envelope(msgspec.Struct, frozen=True):
    """What surrounds the items of an answer."""

    errors: tuple[WireError, ...] = ()
    warnings: tuple[WireError, ...] | None = None
    status: tuple[KillStatus, ...] | None = None
    results: tuple[UpdateResult, ...] | None = None
    last_update: AnyNumber = None
    meta: Meta = Meta()

    @property
    def updated(self) -> int:
        """`last_update` in Unix seconds; 0 when the answer has none."""
        return time_of(self.last_update)

    def codes(self) -> Iterable[tuple[int, str]]:
        """Every error, wherever it stands, as (number, text)."""
        for error in self.errors:
            yield error.code, error.text
        for killed in self.status or ():
            if killed.error.code:
                yield killed.error.code, killed.error.string or "no text"
        for result in self.results or ():
            if result.error_code:
                yield result.error_code, result.error or "no text"


_envelope = msgspec.json.Decoder(Envelope)


def envelope_of(body: bytes) -> Envelope | None:
    """The frame of a body; None when the body is not an answer of slurmrestd's API."""
    with contextlib.suppress(msgspec.MsgspecError):
        return _envelope.decode(body)
    return None
