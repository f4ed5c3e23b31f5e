"""The one exception of the API server, with the texts and details the real one writes."""

from __future__ import annotations

from typing import Any

from k8s_bridge.sandbox.apiserver.kinds import Kind

Json = dict[str, Any]


class ApiError(Exception):
    """A refused request: HTTP `code`, machine-readable `reason`, text, metav1.Status details and metadata."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Json | None = None,
        metadata: Json | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or {}
        self.metadata = metadata or {}

    def status(self) -> Json:
        """The metav1.Status object the client gets."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **({"details": self.details} if self.details else {}),
            "code": self.code,
        }


def _details(kind: Kind, name: str, **more: object) -> Json:
    group = {"group": kind.group} if kind.group else {}
    return {"name": name, **group, "kind": kind.plural, **more}


def not_found(kind: Kind, name: str) -> ApiError:
    """404 of a named object."""
    return ApiError(404, "NotFound", f'{kind.resource} "{name}" not found', details=_details(kind, name))


def already_exists(kind: Kind, name: str) -> ApiError:
    """409 of a create whose name is taken."""
    text = f'{kind.resource} "{name}" already exists'
    return ApiError(409, "AlreadyExists", text, details=_details(kind, name))


STALE = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(kind: Kind, name: str, *, why: str = STALE) -> ApiError:
    """409 of a write against another version or another object than the one stored."""
    text = f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}'
    return ApiError(409, "Conflict", text, details=_details(kind, name))


NOT_THERE = "uid mismatch: the provided object specified uid {}, and no existing object was found"


def precondition_failed(kind: Kind, name: str, *, what: str, wanted: str, found: str) -> ApiError:
    """409 of a delete whose precondition does not hold."""
    group = f".{kind.group}" if kind.group else ""
    end = "deleted and then recreated" if what == "UID" else "modified"
    text = (
        f'Operation cannot be fulfilled on {kind.kind}{group} "{name}": '
        f"the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). "
        f"The object might have been {end}"
    )
    return ApiError(409, "Conflict", text, details=_details(kind, name) | {"kind": kind.kind})


def uid_conflict(kind: Kind, name: str, *, wanted: str, found: str) -> ApiError:
    """409 of a uid precondition that does not hold."""
    why = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{kind.plural}/{name}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    )
    return conflict(kind, name, why=why)


def invalid(kind: Kind, name: str, causes: list[tuple[str, str, str]]) -> ApiError:
    """422 listing every cause as (field, reason, message)."""
    texts = [f"{field}: {message}" for field, _, message in causes]
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    group = f".{kind.group}" if kind.group else ""
    entries = [{"reason": reason, "message": message, "field": field} for field, reason, message in causes]
    details = _details(kind, name, causes=entries) | {"kind": kind.kind}
    return ApiError(422, "Invalid", f'{kind.kind}{group} "{name}" is invalid: {listed}', details=details)


def bad_request(text: str) -> ApiError:
    """400."""
    return ApiError(400, "BadRequest", text)


def expired(text: str) -> ApiError:
    """410 of a resourceVersion or continue token that history no longer covers."""
    return ApiError(410, "Expired", text)
