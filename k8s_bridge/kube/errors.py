"""Translates what the API server says into the three errors of `core.errors`.

The HTTP code and the machine-readable parts of the Status object decide; message texts are for people only.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from k8s_bridge.core.errors import BridgeError, Conflict, Missing, Retry, Terminal

_TEXT_MAX = 500
_AFTER_MAX = 300.0
_REQUEST_TIMEOUT = 408
_TOO_MANY = 429
_SERVER_ERROR = 500
_UNAUTHORIZED = 401


class AlreadyExists(Conflict):
    """Create: an object of that name is there."""


class Gone(Conflict):
    """The resource version or continue token is too old (410): list again."""


class StatusCause(msgspec.Struct, frozen=True):
    """status.details.causes[]."""

    field: str = ""


class StatusDetails(msgspec.Struct, frozen=True, rename="camel"):
    """status.details."""

    retry_after_seconds: int = 0
    causes: tuple[StatusCause, ...] | None = None


class Status(msgspec.Struct, frozen=True):
    """metav1.Status, as far as it decides anything. `kind` is "" where the body was no Status at all."""

    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: StatusDetails | None = None


_DECODER = msgspec.json.Decoder(Status)
_BY_REASON: Mapping[str, type[Conflict]] = {"AlreadyExists": AlreadyExists, "Expired": Gone, "Gone": Gone}
_BY_CODE: Mapping[int, type[Conflict]] = {409: Conflict, 410: Gone}
_NOT_FOUND = 404


def status_of(body: bytes | memoryview) -> Status:
    """The Status in a body; an empty one where the body is something else (a proxy's page)."""
    try:
        return _DECODER.decode(body)
    except msgspec.DecodeError:
        return Status()


def error_of(call: str, code: int, body: bytes | memoryview, *, retry_after: str = "") -> BridgeError:
    """The error that an answer with `code` amounts to. `retry_after` is the header of that name."""
    status = status_of(body)
    text = f"{call}: {code} {status.reason} {status.message[:_TEXT_MAX]}".rstrip()
    if conflict := _conflict(code, status):
        return conflict(text)
    if code in (_REQUEST_TIMEOUT, _TOO_MANY, _UNAUTHORIZED) or code >= _SERVER_ERROR:
        return Retry(text, after=_after(status, retry_after))
    if code == _NOT_FOUND and status.kind == "Status":
        return Missing(text)
    return Terminal(text, reason=status.reason or f"Http{code}")


def _conflict(code: int, status: Status) -> type[Conflict] | None:
    if found := _BY_REASON.get(status.reason) or _BY_CODE.get(code):
        return found
    causes = (status.details and status.details.causes) or ()
    # a uid in an apply or patch is our precondition; where it does not hold, the server calls it immutable
    return Conflict if any(cause.field == "metadata.uid" for cause in causes) else None


def _after(status: Status, header: str) -> float | None:
    if header.isdecimal():
        return min(float(header), _AFTER_MAX)
    seconds = status.details.retry_after_seconds if status.details else 0
    return min(float(seconds), _AFTER_MAX) if seconds > 0 else None
