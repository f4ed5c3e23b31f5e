"""JWTs that slurmctld accepts: HS256 with the cluster's own key."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json


def mint(key: bytes, *, user: str, issued: int, lifetime: int) -> str:
    """A token for `user`, valid `lifetime` seconds from `issued` (Unix seconds)."""
    claims = {"exp": issued + lifetime, "iat": issued, "sun": user}
    unsigned = b".".join(
        _part(json.dumps(item).encode()) for item in ({"alg": "HS256", "typ": "JWT"}, claims)
    )
    signature = hmac.new(key, unsigned, hashlib.sha256).digest()
    return (unsigned + b"." + _part(signature)).decode()


def _part(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
