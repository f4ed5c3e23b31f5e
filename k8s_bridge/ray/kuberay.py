"""Which KubeRay there is, told by what its API serves."""

from __future__ import annotations

from collections.abc import Callable

from api.views import Object
from k8s_bridge.core.errors import BridgeError, Missing
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.ray.unit import Requeue
from k8s_bridge.runtime.rounds import Rounds

_AGAIN, _RETRY = 300.0, 5.0
"""Seconds between two looks, and after one that failed."""


class _RayCronJob(Object, frozen=True):
    """ray.io RayCronJob: served from KubeRay 1.6 on."""

    GVR = ("ray.io", "v1", "raycronjobs")
    KIND = "RayCronJob"


class Versions(Rounds):
    """Looks now and then; `found` is called after each look that was answered."""

    def __init__(self, client: KubeClient, *, namespace: str, found: Callable[[], None]) -> None:
        super().__init__()
        self._client = client
        self._namespace = namespace
        self._found = found
        self.requeue = Requeue.IMPOSSIBLE
        self.unknown = "KubeRay: its version is not known yet"
        """Why nothing may be decided; "" after the first look."""

    async def _look(self) -> float:
        try:
            await self._client.list(_RayCronJob, namespace=self._namespace)
            self.requeue = Requeue.RETRYING
        except Missing:
            self.requeue = Requeue.IMPOSSIBLE
        except BridgeError as error:
            self.unknown = f"KubeRay: its version is not known yet ({error})" if self.unknown else ""
            return _RETRY
        self.unknown = ""
        self._found()
        return _AGAIN
