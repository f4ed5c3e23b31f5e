"""The one table from what slurmrestd answers to the errors of core.errors. Numbers decide, never texts."""

from __future__ import annotations

from enum import Enum, auto

from k8s_bridge.core.errors import BridgeError, Conflict, Missing, Retry, Terminal
from k8s_bridge.slurm.client.wire import Envelope


class Kind(Enum):
    """What an error number means to a caller."""

    RETRY = auto()
    CONFLICT = auto()
    MISSING = auto()


INVALID_JOB = 2017
INVALID_NODE = 2018
ALREADY_DONE = 2021
UNSPECIFIED = -1
NONE = 0

MADE_ANYWAY = frozenset({NONE, 2014, 2015, 2016, 2068, 2070, 2101})
"""After a change of a pending job slurmctld tries whether the job could start. That it could not (no node is
there: the usual case) comes back as the error of a change that was made; v0.0.38 says it of arrays without a
number.
"""

_KINDS: dict[int, Kind | str] = {
    11: Kind.RETRY,  # EAGAIN: the scheduler has the job just now
    1000: Kind.RETRY,  # unexpected message: slurmctld went away meanwhile
    1001: Kind.RETRY,
    1002: Kind.RETRY,
    1003: Kind.RETRY,
    1004: Kind.RETRY,
    1007: "TokenInvalid",
    1800: Kind.RETRY,  # slurmctld is down
    1801: Kind.RETRY,
    1802: Kind.RETRY,
    1803: Kind.RETRY,
    2000: "PartitionInvalid",
    2002: "AccessDenied",
    2010: "UserInvalid",
    2014: Kind.CONFLICT,
    2015: Kind.CONFLICT,
    2016: Kind.RETRY,  # nodes are busy
    INVALID_JOB: Kind.MISSING,
    INVALID_NODE: Kind.CONFLICT,
    2020: Kind.RETRY,  # cannot be altered now
    ALREADY_DONE: Kind.CONFLICT,
    2027: Kind.RETRY,  # a standby slurmctld
    2028: "NodeStateInvalid",
    2029: Kind.CONFLICT,  # no node has the feature (any more)
    2042: Kind.CONFLICT,  # the job is held
    2050: "AccountingPolicy",
    2073: Kind.CONFLICT,  # no longer pending
    2083: Kind.CONFLICT,  # has started
    2084: Kind.CONFLICT,  # has finished
    2103: Kind.RETRY,
    5000: Kind.RETRY,
    5004: Kind.RETRY,  # slurmctld does not answer in time
    5005: Kind.RETRY,
}

_STATUSES: dict[int, Kind | str] = {
    400: "BadRequest",
    401: "TokenInvalid",
    403: "AccessDenied",
    404: "NoSuchPath",
    405: "NotSupported",
    422: "BadRequest",
    429: Kind.RETRY,
    511: "TokenInvalid",
}
_SLURMCTLD = range(2000, 3000)
"""Its own refusals. 24.11 says 500 to all of them; those that are not in the table are for good."""
_SERVER_ERROR = 500
_REDIRECT = range(300, 400)


def by_number(text: str, *, number: int) -> BridgeError | None:
    """The error that a Slurm error number amounts to; None for numbers that are not in the table."""
    kind = _KINDS.get(number)
    return None if kind is None else _make(kind, f"{text} ({number})")


def by_status(text: str, *, status: int) -> BridgeError:
    """The error that an HTTP status amounts to when the answer has no number that is known."""
    if status in _REDIRECT:
        return _make("Redirected", f"{text} (HTTP {status}: redirects are not followed)")
    passing = Kind.RETRY if status >= _SERVER_ERROR else "Refused"
    return _make(_STATUSES.get(status, passing), f"{text} (HTTP {status})")


def error_of(call: str, *, status: int, envelope: Envelope | None) -> BridgeError | None:
    """The error of an answer; None when it is a success. The first number that is known decides."""
    if envelope is None:
        return by_status(f"{call}: not an answer of slurmrestd", status=status)
    found = [(code, f"{call}: {text}") for code, text in envelope.codes()]
    for code, text in found:
        error = by_number(text, number=code)
        if error is not None:
            return error
    if status == _OK and not found:
        return None
    number, text = found[0] if found else (NONE, f"{call}: no error given")
    return _unknown(text, number=number, status=status)


def ignored(call: str, *, envelope: Envelope) -> BridgeError | None:
    """What a change that brought warnings amounts to: parts of it were not understood, and so not made."""
    if not envelope.warnings:
        return None
    return Terminal(f"{call}: {envelope.warnings[0].text}", reason="RequestIgnored")


_OK = 200


def _unknown(text: str, *, number: int, status: int) -> BridgeError:
    if status == _OK or number in _SLURMCTLD:
        return Terminal(f"{text} ({number}, HTTP {status})", reason="Refused")
    return by_status(text, status=status)


def _make(kind: Kind | str, text: str) -> BridgeError:
    if isinstance(kind, str):
        return Terminal(text, reason=kind)
    if kind is Kind.RETRY:
        return Retry(text)
    return Conflict(text) if kind is Kind.CONFLICT else Missing(text)
