"""Whether anything holds the namespace's jobs: the API server is asked what it would make of one."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from api.ray_views import RayJob
from k8s_bridge.core.effects import ObjectRef
from k8s_bridge.core.errors import BridgeError, Terminal
from k8s_bridge.core.preflight import Trouble
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.ray import names
from k8s_bridge.runtime.rounds import Rounds

_AGAIN, _RETRY = 60.0, 5.0
"""Seconds between two looks, and after one that told nothing."""
_REFUSED = "Invalid"
_PROBE = "ray-bridge-probe"
_WANTED = f"{names.MANAGED_NAMESPACE}=true, and policies or webhook of the chart (rayBridge.admission)"
UNHELD: Trouble = (
    "NotEnforced",
    f"nothing holds the jobs of this namespace, so they run without quota: it needs the label {_WANTED}",
)


class Enforcement(Rounds):
    """Looks now and then. `cluster` names a shared cluster that is managed; "" when there is none."""

    def __init__(self, client: KubeClient, *, namespace: str, cluster: Callable[[], str]) -> None:
        super().__init__()
        self._client = client
        self._namespace = namespace
        self._cluster = cluster
        self.lacking = False
        """Whether jobs are certainly not held."""

    async def _look(self) -> float:
        cluster = self._cluster()
        try:
            self.lacking = bool(cluster) and not await is_held(self._client, self._namespace, cluster)
        except BridgeError:
            return _RETRY
        return _AGAIN


async def is_held(client: KubeClient, namespace: str, cluster: str) -> bool:
    """Whether a job for the shared cluster would be held. Raises what the API server says.

    Nothing is stored. To be refused for what it asks for is to be held, too.
    """
    group, version, plural = RayJob.GVR
    ref = ObjectRef(
        api_version=f"{group}/{version}",
        kind=RayJob.KIND,
        plural=plural,
        namespace=namespace,
        name=_PROBE,
    )
    manifest = {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "metadata": {"name": _PROBE, "namespace": namespace},
        "spec": {"clusterSelector": {names.CLUSTER_SELECTOR: cluster}, "entrypoint": "true"},
    }
    try:
        answer = await client.rehearse(ref, manifest=manifest)
    except Terminal as error:
        if error.reason == _REFUSED:
            return True
        raise
    return names.ACCEPTED in msgspec.json.decode(answer, type=RayJob).metadata.annotations
