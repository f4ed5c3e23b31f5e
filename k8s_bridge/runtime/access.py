"""Who may see units: they name jobs and people.

Without a token: whoever comes over loopback, as through `kubectl port-forward` or `kubectl exec`. With one:
whoever sends it, from wherever, as a bearer token or (a browser asks for it) as the password of any user.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

_CHALLENGES = ('Basic realm="k8s-bridge: any user, the token as password"', "Bearer")
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The switch. `token_file` is read with each request: a token is changed without a restart."""

    token_file: Path | None = None

    def refusal(self, request: Request) -> Response | None:
        """The answer to who may not; None for who may."""
        if self.token_file is None:
            return None if _is_near(request) else _only_near()
        token = _read(self.token_file)
        if not token:
            return PlainTextResponse("the token file of --http-token-file cannot be read", status_code=503)
        if hmac.compare_digest(_sent(request), token):
            return None
        return _ask()


NEAR = Access()
"""Without a token."""


def _is_near(request: Request) -> bool:
    """From this machine, and to it: not what a web page asks for whose own name leads here."""
    client = request.client.host if request.client is not None else ""
    asked = _HOST.fullmatch(request.headers.get("host", ""))
    return _is_loopback(client) and asked is not None and _is_here(asked["name"])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_here(name: str) -> bool:
    return name == "localhost" or _is_loopback(name.strip("[]"))


def _ask() -> Response:
    answer = PlainTextResponse("a token is needed (--http-token-file)", status_code=401)
    for challenge in _CHALLENGES:
        answer.headers.append("WWW-Authenticate", challenge)
    return answer


def _only_near() -> Response:
    text = "only from loopback: use kubectl port-forward to this pod, or start it with --http-token-file"
    return PlainTextResponse(text, status_code=403)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes().strip()
    except OSError:
        return b""


def _sent(request: Request) -> bytes:
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    match scheme.lower():
        case "bearer":
            return value.strip().encode()
        case "basic":
            return _password(value)
        case _:
            return b""


def _password(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return b""
