"""JWTs as slurmctld accepts them: HS256 with the cluster's own key, the user in the claim `sun`."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json


def mint(key: bytes, *, user: str, issued: int, lifetime: int) -> str:
    """A token for `user`, valid `lifetime` seconds from `issued` (Unix seconds)."""
    claims = {"exp": issued + lifetime, "iat": issued, "sun": user}
    unsigned = b".".join(
        _encode(json.dumps(item).encode()) for item in ({"alg": "HS256", "typ": "JWT"}, claims)
    )
    return (unsigned + b"." + _encode(_sign(unsigned, key=key))).decode()


def user_of(token: str, *, key: bytes, now: int) -> str | None:
    """The user that a token is for; None when it is forged, malformed or expired."""
    unsigned, _, signature = token.encode().rpartition(b".")
    if not hmac.compare_digest(_encode(_sign(unsigned, key=key)), signature):
        return None
    payload = unsigned.rpartition(b".")[2]
    claims = json.loads(base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)))
    return str(claims["sun"]) if claims["exp"] > now else None


def _sign(unsigned: bytes, *, key: bytes) -> bytes:
    return hmac.new(key, unsigned, hashlib.sha256).digest()


def _encode(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
