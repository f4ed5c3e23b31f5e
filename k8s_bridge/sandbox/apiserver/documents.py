"""Bodies of requests: decoded, and whether they are what the path and the media type promise. Pure."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from k8s_bridge.sandbox.apiserver.errors import ApiError, Json, bad_request, invalid
from k8s_bridge.sandbox.apiserver.kinds import Propagation
from k8s_bridge.sandbox.apiserver.patches import PatchType
from k8s_bridge.sandbox.apiserver.requests import Request, Target

_DOCUMENTS = ("", "application/json", "application/yaml")  # the real server's protobuf is not served


def decoded(body: bytes, *, mapping: bool = True) -> Any:
    """The document in a request body, JSON or YAML. 400 if it is neither, or not of the shape that is due."""
    try:
        document = msgspec.json.decode(body)
    except msgspec.DecodeError:
        document = _from_yaml(body)
    if isinstance(document, dict) is not mapping:
        raise bad_request("the object provided is unrecognized (must be of type object)")
    return document


def _from_yaml(body: bytes) -> Any:
    try:
        return yaml.safe_load(body)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise bad_request(f"the object provided is unrecognized: {error}") from None


def identity(target: Target) -> Json:
    """The metadata that the path gives."""
    return {"namespace": target.namespace} if target.namespace else {}


def check_document(target: Target, obj: Json) -> None:
    """400 for a document of another kind or namespace than the path's."""
    kind, meta = target.kind, obj.get("metadata") or {}
    given = (obj.get("apiVersion", kind.api_version), obj.get("kind", kind.kind))
    if given != (kind.api_version, kind.kind):
        raise bad_request(
            f"{given[1]} in version {given[0]!r} cannot be handled as a {kind.kind}: "
            f"the API version in the data ({given[0]}) does not match the expected API version "
            f"({kind.api_version})"
        )
    if meta.get("namespace", target.namespace) != target.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_apply(request: Request, document: Json) -> None:
    """400 or 422 for what server-side apply cannot begin with."""
    target = request.target
    if not request.query.get("fieldManager"):
        text = "Required value: is required for apply patch"
        raise invalid(target.kind, "", [("fieldManager", "FieldValueRequired", text)])
    if (document.get("metadata") or {}).get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    if not document.get("apiVersion") or not document.get("kind"):
        raise bad_request("the object to apply must name its apiVersion and kind")
    check_document(target, document)


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").split(";")[0].strip()


def check_media_type(request: Request) -> None:
    """415 for a body of another media type."""
    if _media_type(request) not in _DOCUMENTS:
        raise _unsupported("application/json", "application/yaml")


def patch_type(request: Request) -> PatchType:
    """How the patch is meant; 415 if the kind does not take such patches."""
    served = [t for t in PatchType if t is not PatchType.STRATEGIC or not request.target.kind.custom]
    found = next((t for t in served if t == _media_type(request)), None)
    if found is None:
        raise _unsupported(*served)
    return found


def _unsupported(*accepted: str) -> ApiError:
    served = ", ".join(accepted)
    text = f"the body of the request was in an unknown format - accepted media types include: {served}"
    return ApiError(415, "UnsupportedMediaType", text)


def delete_options(request: Request, body: bytes) -> Json:
    """metav1.DeleteOptions of the body and the query; 422 for an unknown policy."""
    options: Json = decoded(body) if body.strip() else {}
    if policy := request.query.get("propagationPolicy"):
        options["propagationPolicy"] = policy
    if (grace := request.number("gracePeriodSeconds")) is not None:
        options["gracePeriodSeconds"] = grace
    if (given := options.get("propagationPolicy")) not in (None, *Propagation):
        text = f'Unsupported value: "{given}": supported values: "Foreground", "Background", "Orphan", "nil"'
        raise ApiError(
            422,
            "Invalid",
            f'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: {text}',
            details={
                "causes": [
                    {"reason": "FieldValueNotSupported", "message": text, "field": "propagationPolicy"}
                ]
            },
        )
    return options
