"""One resource request in, one reply out: verbs translated into storage calls. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import yaml

from k8s_bridge.sandbox.apiserver import selectors, subresources, tables
from k8s_bridge.sandbox.apiserver.apply import Force
from k8s_bridge.sandbox.apiserver.errors import ApiError, Json, bad_request, invalid, not_found
from k8s_bridge.sandbox.apiserver.kinds import PODS, Kind, Propagation
from k8s_bridge.sandbox.apiserver.paging import Page, Pager
from k8s_bridge.sandbox.apiserver.patches import PatchType
from k8s_bridge.sandbox.apiserver.records import Stored
from k8s_bridge.sandbox.apiserver.requests import Request, Target
from k8s_bridge.sandbox.apiserver.storage import Storage

_encode = msgspec.json.Encoder().encode
_DOCUMENTS = ("", "application/json", "application/yaml")  # the real server's protobuf is not served


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An HTTP answer."""

    code: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def refusal(error: ApiError) -> Reply:
    """The reply to a refused request."""
    return Reply(code=error.code, body=_encode(error.status()))


class Handlers:
    """The verbs, on one storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.pager = Pager()
        self._verbs: dict[str, Callable[[Request, bytes], Reply]] = {
            "get": self._get,
            "list": self._list,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    def serve(self, request: Request, body: bytes) -> Reply:
        """Do what is asked; refusals are replies as well."""
        try:
            return self._verbs[request.verb](request, body)
        except ApiError as error:
            return refusal(error)

    def _get(self, request: Request, _: bytes) -> Reply:
        target = request.target
        if target.subresource not in ("", "status"):
            raise not_found(target.kind, target.name)
        row = self._storage.row(target.kind, target.namespace, target.name)
        if row is None:
            raise not_found(target.kind, target.name)
        if tables.wanted(request.headers):
            return Reply(body=tables.table(target.kind, [row], now=self._storage.clock.now(), meta={}))
        return Reply(body=row.body)

    def _list(self, request: Request, _: bytes) -> Reply:
        page, meta = self._page(request)
        if tables.wanted(request.headers):
            now = self._storage.clock.now()
            return Reply(body=tables.table(request.target.kind, page.rows, now=now, meta=meta))
        return Reply(body=_list_body(request.target.kind, page.rows, meta))

    def _page(self, request: Request) -> tuple[Page, Json]:
        rv, limit, token = self._storage.rv, request.number("limit") or 0, request.query.get("continue", "")
        if token:
            page = self.pager.following(token, lambda: self._selected(request), rv=rv, limit=limit)
        else:
            page = self.pager.first(self._selected(request), rv=rv, limit=limit)
        meta: Json = {"resourceVersion": str(page.rv)}
        if page.token:
            meta |= {"continue": page.token}
            if not _is_selective(request):
                meta |= {"remainingItemCount": page.remaining}
        return page, meta

    def _selected(self, request: Request) -> Sequence[Stored]:
        target = request.target
        return self._storage.rows(target.kind, namespace=target.namespace, selection=selection(request))

    def _create(self, request: Request, body: bytes) -> Reply:
        _check_media_type(request)
        target, obj = request.target, decoded(body)
        if target.subresource:
            return self._written(target, subresources.create(self._storage, target, obj), code=201)
        meta = obj.get("metadata")
        if not isinstance(meta, dict):
            obj["metadata"] = meta = {}
        _check_document(target, obj)
        if target.kind.namespaced:
            meta["namespace"] = target.namespace
        made = self._storage.create(target.kind, obj, field_manager=request.manager)
        return self._written(target, made, code=201)

    def _update(self, request: Request, body: bytes) -> Reply:
        _check_media_type(request)
        target, obj = request.target, decoded(body)
        _check_document(target, obj)
        obj["metadata"] = (obj.get("metadata") or {}) | _identity(target)
        if obj["metadata"]["name"] != target.name:
            raise bad_request("the name of the object does not match the name on the URL")
        made = self._storage.update(
            target.kind, obj, subresource=target.subresource, field_manager=request.manager
        )
        return self._written(target, made)

    def _patch(self, request: Request, body: bytes) -> Reply:
        target, patch_type = request.target, _patch_type(request)
        document = decoded(body, mapping=patch_type is not PatchType.JSON)
        if patch_type is PatchType.APPLY:
            _check_apply(request, document)
        was_there = self._storage.row(target.kind, target.namespace, target.name) is not None
        made = self._storage.patch(
            target.kind,
            target.namespace,
            target.name,
            document,
            patch_type=patch_type,
            subresource=target.subresource,
            field_manager=request.manager,
            force=Force.YES if request.flag("force") else Force.NO,
        )
        return self._written(target, made, code=200 if was_there else 201)

    def _delete(self, request: Request, body: bytes) -> Reply:
        target = request.target
        if target.subresource:
            raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the resource")
        gone = self._delete_one(target.kind, target.namespace, target.name, _delete_options(request, body))
        if self._storage.row(target.kind, target.namespace, target.name) or target.kind is PODS:
            return Reply(body=_encode(gone))
        return Reply(body=_encode(_success(target, gone)))

    def _delete_collection(self, request: Request, body: bytes) -> Reply:
        options, rows = _delete_options(request, body), self._selected(request)
        for row in rows:
            self._delete_one(request.target.kind, *row.key, options)
        return Reply(body=_list_body(request.target.kind, rows, {"resourceVersion": str(self._storage.rv)}))

    def _delete_one(self, kind: Kind, namespace: str, name: str, options: Json) -> Json:
        conditions, policy = options.get("preconditions") or {}, options.get("propagationPolicy")
        return self._storage.delete(
            kind,
            namespace,
            name,
            uid=conditions.get("uid", ""),
            resource_version=conditions.get("resourceVersion", ""),
            propagation=Propagation(policy) if policy else None,
            grace_seconds=options.get("gracePeriodSeconds"),
        )

    def _written(self, target: Target, obj: Json, *, code: int = 200) -> Reply:
        row = self._storage.row(target.kind, target.namespace, obj["metadata"].get("name", ""))
        same = row is not None and row.obj is obj
        return Reply(code=code, body=row.body if row is not None and same else _encode(obj))


def selection(request: Request) -> selectors.Predicate | None:
    """What the request's selectors, or its name in the path, select."""
    labels = selectors.labels(request.query.get("labelSelector", ""))
    return selectors.both(
        labels, selectors.fields(request.target.kind, request.query.get("fieldSelector", ""))
    )


def _is_selective(request: Request) -> bool:
    return bool(request.query.get("labelSelector") or request.query.get("fieldSelector"))


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


def _identity(target: Target) -> Json:
    return {"namespace": target.namespace} if target.namespace else {}


def _check_document(target: Target, obj: Json) -> None:
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


def _check_apply(request: Request, document: Json) -> None:
    target = request.target
    if not request.query.get("fieldManager"):
        text = "Required value: is required for apply patch"
        raise invalid(target.kind, "", [("fieldManager", "FieldValueRequired", text)])
    if (document.get("metadata") or {}).get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    if not document.get("apiVersion") or not document.get("kind"):
        raise bad_request("the object to apply must name its apiVersion and kind")
    _check_document(target, document)


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").split(";")[0].strip()


def _check_media_type(request: Request) -> None:
    if _media_type(request) not in _DOCUMENTS:
        raise _unsupported("application/json", "application/yaml")


def _patch_type(request: Request) -> PatchType:
    served = [t for t in PatchType if t is not PatchType.STRATEGIC or not request.target.kind.custom]
    found = next((t for t in served if t == _media_type(request)), None)
    if found is None:
        raise _unsupported(*served)
    return found


def _unsupported(*accepted: str) -> ApiError:
    served = ", ".join(accepted)
    text = f"the body of the request was in an unknown format - accepted media types include: {served}"
    return ApiError(415, "UnsupportedMediaType", text)


def _delete_options(request: Request, body: bytes) -> Json:
    options: Json = decoded(body) if body.strip() else {}
    if policy := request.query.get("propagationPolicy"):
        options["propagationPolicy"] = policy
    if (grace := request.number("gracePeriodSeconds")) is not None:
        options["gracePeriodSeconds"] = grace
    if options.get("propagationPolicy") not in (None, *Propagation):
        raise bad_request(f"unknown propagationPolicy {options['propagationPolicy']!r}")
    return options


def _success(target: Target, gone: Json) -> Json:
    kind = target.kind
    group = {"group": kind.group} if kind.group else {}
    details = {"name": target.name, **group, "kind": kind.plural, "uid": gone["metadata"]["uid"]}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _list_body(kind: Kind, rows: Sequence[Stored], meta: Json) -> bytes:
    head = b'{"kind":"%bList","apiVersion":"%b","metadata":%b,"items":['
    head %= kind.kind.encode(), kind.api_version.encode(), _encode(meta)
    return b"".join((head, b",".join([row.body for row in rows]), b"]}"))
