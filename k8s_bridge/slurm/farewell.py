"""The end of a WorkloadMixing with deletionPolicy Drain: a finalizer keeps it until nothing of it is left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from api.v1alpha1 import WorkloadMixing
from api.v1alpha1.policy import DeletionPolicy
from k8s_bridge.core import naming
from k8s_bridge.core.effects import ObjectRef, Patch
from k8s_bridge.core.errors import BridgeError
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime.sources import MixingObject, read_object
from k8s_bridge.runtime.waiting import wait

SECONDS = 2.0


def finalizers_due(mixing: WorkloadMixing, *, left: int) -> tuple[str, ...] | None:
    """The finalizers that the mixing is to have; None when those it has are right.

    `left`: how many JobSets and Slurm nodes of it there still are.
    """
    have = mixing.metadata.finalizers
    going = mixing.metadata.deletion_timestamp is not None
    wanted = mixing.spec.deletion_policy is DeletionPolicy.DRAIN and not (going and not left)
    if wanted is (naming.DRAIN_FINALIZER in have):
        return None
    if not wanted:
        return tuple(found for found in have if found != naming.DRAIN_FINALIZER)
    return None if going else (*have, naming.DRAIN_FINALIZER)


class Farewell:
    """Keeps the finalizer of one mixing right. `left` as above; `failed` is told why a write did not work."""

    def __init__(
        self,
        client: KubeClient,
        *,
        left: Callable[[], int],
        may_write: Callable[[], bool],
        failed: Callable[[BridgeError], None],
    ) -> None:
        self._client = client
        self._left = left
        self._may_write = may_write
        self._failed = failed
        self._mixing: WorkloadMixing | None = None
        self._wake = asyncio.Event()
        self._stopping = False

    def configure(self, mixing: WorkloadMixing) -> None:
        """Go on with another spec, or with one that is being deleted."""
        self._mixing = mixing
        self._wake.set()

    async def run(self) -> None:
        """Look every few seconds, until `stop`."""
        while not self._stopping:
            try:
                await self._once()
            except BridgeError as error:
                self._failed(error)
            await wait(self._wake, seconds=SECONDS)

    def stop(self) -> None:
        """Make `run` return."""
        self._stopping = True
        self._wake.set()

    async def _once(self) -> None:
        mixing = self._mixing
        if mixing is None or not mixing.metadata.uid or not self._may_write():
            return
        if finalizers_due(mixing, left=self._left()) is not None:
            meta = mixing.metadata
            await self._write(await self._client.get(MixingObject, name=meta.name, namespace=meta.namespace))

    async def _write(self, there: MixingObject) -> None:
        """Judge by what is there now; fails when anybody changes it meanwhile."""
        due = finalizers_due(read_object(there), left=self._left())
        if due is not None:
            patch = {"metadata": {"finalizers": list(due) or None}}
            version = there.metadata.resource_version
            await self._client.patch(Patch(ref=ObjectRef.to(there), patch=patch, resource_version=version))
