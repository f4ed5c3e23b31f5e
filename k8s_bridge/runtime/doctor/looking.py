"""Looks at a cluster, with reads only; what may not be seen is data."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import TypeVar

import msgspec

from api.views import Object
from k8s_bridge.core.errors import BridgeError, Missing, Terminal
from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime.doctor.kinds import Served
from k8s_bridge.runtime.doctor.verdict import Hidden, Result, Seen, Verdict
from k8s_bridge.runtime.doctor.views import Deployment

T = TypeVar("T")
K = TypeVar("K", bound=Object)
CLUSTER_NAME = "cluster"
"""What results of no WorkloadMixing are about."""
_NOT_SERVED = ("NotFound", "Http404")


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct):
    versions: tuple[_Version, ...] = ()


class _Resource(msgspec.Struct):
    name: str


class _Resources(msgspec.Struct):
    resources: tuple[_Resource, ...] = ()


async def seen(asked: Awaitable[T]) -> Seen[T]:
    """What comes of a read: the object, None when it is certainly not there, or why it stays hidden."""
    try:
        return await asked
    except Missing:
        return None
    except BridgeError as error:
        return Hidden(str(error))


async def served(client: KubeClient, wanted: Iterable[str]) -> Served:
    """What of the wanted group/versions is served. Raises what reads raise."""
    versions, resources = {}, {}
    for version in wanted:
        group = version.partition("/")[0]
        found = await _document(client, f"/apis/{group}", _Group)
        versions[group] = tuple(one.version for one in found.versions)
        there = await _document(client, f"/apis/{version}", _Resources)
        resources[version] = frozenset(one.name for one in there.resources)
    return Served(versions=versions, resources=resources)


async def _document(client: KubeClient, path: str, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(await client.document(path), type=kind)
    except Terminal as error:
        if error.reason in _NOT_SERVED:
            return kind()
        raise
    except msgspec.MsgspecError as error:
        raise Terminal(f"GET {path}: {error}", reason="Undecodable") from error


async def deployments(client: KubeClient) -> tuple[Deployment, ...] | Hidden:
    """Deployments of all namespaces; () where the kind is not served."""
    found = await seen(client.list(Deployment))
    if found is None or isinstance(found, Hidden):
        return found or ()
    return tuple(found.items)


async def every(
    client: KubeClient, view: type[K], names: Iterable[str], *, namespace: str = ""
) -> dict[str, Seen[K]]:
    """The named objects of a kind, from a list: a bridge may list what it may not get."""
    found = await seen(client.list(view, namespace=namespace))
    if found is None or isinstance(found, Hidden):
        return dict.fromkeys(sorted(names), found)
    there = {one.metadata.name: one for one in found.items}
    return {name: there.get(name) for name in sorted(names)}


async def listed(client: KubeClient, view: type[K]) -> tuple[K, ...]:
    """All objects of a kind; () where they may not be seen."""
    found = await seen(client.list(view))
    return () if found is None or isinstance(found, Hidden) else tuple(found.items)


def no_cluster(server: ApiServer, error: BridgeError) -> Result:
    """What is said of a cluster that does not answer."""
    return Result(
        check="api-server",
        about=CLUSTER_NAME,
        verdict=Verdict.WRONG,
        seen=f"{server.base_url}: {error}",
        why="without it nothing of Kubernetes can be looked at",
        cure="correct --kubeconfig or --context; `kubectl version` must answer",
    )
