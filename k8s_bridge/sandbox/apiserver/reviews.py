"""Answers access reviews. All is allowed but what is denied here; the server itself enforces nothing."""

from __future__ import annotations

import json

from k8s_bridge.sandbox.apiserver.errors import Json

_ROOT = "/apis/authorization.k8s.io/v1/"
_KINDS = {f"{_ROOT}{kind.lower()}s": kind for kind in ("SelfSubjectAccessReview", "SubjectAccessReview")}


class Reviews:
    """`denied`: (group, resource with subresource, verb) of what nobody may do."""

    def __init__(self) -> None:
        self.denied: set[tuple[str, str, str]] = set()

    def answer(self, path: str, body: bytes) -> Json | None:
        """The review with its verdict; None where the path is not that of reviews."""
        kind = _KINDS.get(path)
        if kind is None:
            return None
        review: Json = json.loads(body)
        asked = review["spec"]["resourceAttributes"]
        resource = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
        allowed = (asked.get("group", ""), resource, asked["verb"]) not in self.denied
        return {**review, "status": {"allowed": allowed}}
