"""How an admission webhook refuses."""

from __future__ import annotations

from k8s_bridge.sandbox.apiserver.errors import ApiError


def denied(webhook: str, why: str) -> ApiError:
    """403 with the webhook's name and the reason it gives."""
    return ApiError(403, "Forbidden", f'admission webhook "{webhook}" denied the request: {why}')
