"""The webhook in the sandbox: the API server asks it as its configurations say, in process."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from k8s_bridge.core.cel.policy import scope_in
from k8s_bridge.ray.admission.answers import changed, judged
from k8s_bridge.ray.admission.configurations import Where, configurations
from k8s_bridge.sandbox.apiserver import kinds
from k8s_bridge.sandbox.apiserver.errors import ApiError, Json
from k8s_bridge.sandbox.apiserver.kinds import Kind
from k8s_bridge.sandbox.apiserver.patches import PatchType, patched
from k8s_bridge.sandbox.apiserver.records import copy
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.policies.matching import Write, concerns
from k8s_bridge.sandbox.policies.scope import scope_of

NAME = "0-ray-bridge"


def configured(namespace: str) -> Iterator[Json]:
    """Configurations for one namespace."""
    return configurations(NAME, Where(service="webhook", namespace="platform", namespaces=[namespace]))


def serve(storage: Storage) -> None:
    """Before other webhooks, and again after them; then the one that only refuses."""
    for kind in (kinds.RAYJOBS, kinds.JOBS):
        storage.admit(kind, partial(_change, storage, kind, ("IfNeeded", "Never")))
        storage.admit_last(kind, partial(_change, storage, kind, ("IfNeeded",)))
        storage.admit_last(kind, partial(_judge, storage, kind))


def _change(storage: Storage, kind: Kind, again: tuple[str, ...], new: Json, old: Json | None) -> Json:
    for webhook in _asked(storage, kinds.MUTATING_WEBHOOKS, _write(storage, kind, new, old)):
        if webhook["reinvocationPolicy"] in again:
            response = _answer(changed, webhook, storage, _write(storage, kind, new, old))
            patch = json.loads(base64.b64decode(response.get("patch", "W10=")))
            new = patched(copy(new), patch, PatchType.JSON)
    return new


def _judge(storage: Storage, kind: Kind, new: Json, old: Json | None) -> Json:
    write = _write(storage, kind, new, old)
    for webhook in _asked(storage, kinds.VALIDATING_WEBHOOKS, write):
        _answer(judged, webhook, storage, write)
    return new


def _write(storage: Storage, kind: Kind, new: Json, old: Json | None) -> Write:
    namespace = storage.find(kinds.NAMESPACES, "", new["metadata"]["namespace"])
    return Write(kind=kind, new=new, old=old, namespace=namespace)


def _asked(storage: Storage, configured: Kind, write: Write) -> Iterator[Json]:
    if write.old is not None and {**write.old, "status": 0} == {**write.new, "status": 0}:
        return
    for configuration in storage.list(configured):
        for webhook in configuration["webhooks"]:
            selectors = {field: webhook.get(field) for field in ("namespaceSelector", "objectSelector")}
            meant = concerns({"resourceRules": webhook["rules"], **selectors}, write)
            if meant and scope_in(webhook, scope_of(write, params=None)) is not None:
                yield webhook


def _answer(ask: Callable[..., Json], webhook: Json, storage: Storage, write: Write) -> Json:
    scope = scope_of(write, params=None)
    request: dict[str, Any] = {**scope["request"], "uid": "1", "object": write.new, "oldObject": write.old}
    mixings = storage.list(kinds.WORKLOADMIXINGS, namespace=write.new["metadata"]["namespace"])
    response = ask(json.loads(json.dumps(request)), mixings)
    if not response["allowed"]:
        status = response["status"]
        text = f'admission webhook "{webhook["name"]}" denied the request: {status["message"]}'
        raise ApiError(status["code"], status["reason"], text)
    return response
