"""One resource request in, one reply out: verbs translated into storage calls. No I/O."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from k8s_bridge.sandbox.apiserver import custom, documents, selectors, subresources, tables
from k8s_bridge.sandbox.apiserver.apply import Force
from k8s_bridge.sandbox.apiserver.errors import ApiError, Json, bad_request, not_found
from k8s_bridge.sandbox.apiserver.kinds import PODS, Kind, Propagation
from k8s_bridge.sandbox.apiserver.paging import Page, Pager
from k8s_bridge.sandbox.apiserver.patches import PatchType
from k8s_bridge.sandbox.apiserver.records import Stored
from k8s_bridge.sandbox.apiserver.requests import Request, Target
from k8s_bridge.sandbox.apiserver.storage import Storage

_encode = msgspec.json.Encoder().encode


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
            if request.query.get("dryRun") != "All":
                return self._verbs[request.verb](request, body)
            with self._storage.rehearsal():
                return self._verbs[request.verb](request, body)
        except ApiError as error:
            return refusal(error)

    def _get(self, request: Request, _: bytes) -> Reply:
        target = request.target
        if target.subresource and not (target.subresource == "status" and target.kind.has_status):
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
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
        documents.check_media_type(request)
        target, obj = request.target, documents.decoded(body)
        if target.subresource:
            return self._written(target, subresources.create(self._storage, target, obj), code=201)
        meta = obj.get("metadata")
        if not isinstance(meta, dict):
            obj["metadata"] = meta = {}
        documents.check_document(target, obj)
        if target.kind.namespaced:
            meta["namespace"] = target.namespace
        if request.strict:
            custom.strictly_created(target.kind, obj)
        made = self._storage.create(target.kind, obj, field_manager=request.manager)
        return self._written(target, made, code=201)

    def _update(self, request: Request, body: bytes) -> Reply:
        documents.check_media_type(request)
        target, obj = request.target, documents.decoded(body)
        documents.check_document(target, obj)
        obj["metadata"] = (obj.get("metadata") or {}) | documents.identity(target)
        if obj["metadata"]["name"] != target.name:
            raise bad_request("the name of the object does not match the name on the URL")
        made = self._storage.update(
            target.kind, obj, subresource=target.subresource, field_manager=request.manager
        )
        return self._written(target, made)

    def _patch(self, request: Request, body: bytes) -> Reply:
        target, patch_type = request.target, documents.patch_type(request)
        document = documents.decoded(body, mapping=patch_type is not PatchType.JSON)
        if patch_type is PatchType.APPLY:
            documents.check_apply(request, document)
            custom.check_applied(target.kind, target.name, document)
        elif request.strict:
            custom.strictly_patched(target.kind, document)
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
        options = documents.delete_options(request, body)
        with self._storage.rehearsal() if options.get("dryRun") else contextlib.nullcontext():
            gone = self._delete_one(target.kind, target.namespace, target.name, options)
        if self._storage.row(target.kind, target.namespace, target.name) or target.kind is PODS:
            return Reply(body=_encode(gone))
        return Reply(body=_encode(_success(target, gone)))

    def _delete_collection(self, request: Request, body: bytes) -> Reply:
        options, rows = documents.delete_options(request, body), self._selected(request)
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


def _success(target: Target, gone: Json) -> Json:
    kind = target.kind
    group = {"group": kind.group} if kind.group else {}
    details = {"name": target.name, **group, "kind": kind.plural, "uid": gone["metadata"]["uid"]}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _list_body(kind: Kind, rows: Sequence[Stored], meta: Json) -> bytes:
    head = b'{"kind":"%bList","apiVersion":"%b","metadata":%b,"items":['
    head %= kind.kind.encode(), kind.api_version.encode(), _encode(meta)
    return b"".join((head, b",".join([row.body for row in rows]), b"]}"))
