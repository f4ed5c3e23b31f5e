"""The URL paths of Kubernetes resources."""

from __future__ import annotations

from urllib.parse import quote

from api.views import Object
from k8s_bridge.core.effects import ObjectRef


def of_view(view: type[Object], *, namespace: str = "", name: str = "") -> str:
    """The path of a viewed kind: the collection, or one object where `name` is given."""
    group, version, plural = view.GVR
    return _path(group, version, namespace=namespace, rest=(plural, name))


def of_collection(ref: ObjectRef) -> str:
    """The collection that `ref` belongs to."""
    group, _, version = ref.api_version.rpartition("/")
    return _path(group, version, namespace=ref.namespace, rest=(ref.plural,))


def of_ref(ref: ObjectRef, *, subresource: str = "") -> str:
    """The object itself, or one of its subresources."""
    group, _, version = ref.api_version.rpartition("/")
    return _path(group, version, namespace=ref.namespace, rest=(ref.plural, ref.name, subresource))


def _path(group: str, version: str, *, namespace: str, rest: tuple[str, ...]) -> str:
    root = ("apis", group, version) if group else ("api", version)
    scope = ("namespaces", namespace) if namespace else ()
    return "/" + "/".join(quote(part, safe="") for part in (*root, *scope, *rest) if part)
