"""The pods of Ray nodes: how they join, and how they go."""

from __future__ import annotations

import asyncio

from k8s_bridge.sandbox.controllers.kubelet_runtime import SIGKILL_EXIT, ExitStatus, Pod
from k8s_bridge.sandbox.ray_fake.head import RayHead
from k8s_bridge.sandbox.ray_fake.heads import Heads
from k8s_bridge.sandbox.ray_fake.messages import Death
from k8s_bridge.sandbox.ray_fake.model import RayNode
from k8s_bridge.sandbox.ray_fake.racing import first
from k8s_bridge.sandbox.ray_fake.start import StartOptions

_FAILED = 1
_DRAIN = 30.0  # seconds that Ray wants for a drain
_FORCED = 2.0  # the grace that a kubelet gives a pod that is deleted by force


class HeadPod:
    """A head's container. With it goes everything that it knew, but for what is kept in Redis."""

    def __init__(self, heads: Heads, head: RayHead, options: StartOptions, *, ip: str) -> None:
        self._heads = heads
        self._head = head
        self._ended: asyncio.Future[ExitStatus] = asyncio.get_running_loop().create_future()
        head.join(options, ip=ip)

    async def ready(self) -> None:
        """When its probes have said so."""
        await self._heads.clock.sleep(self._heads.timing.ray_ready)

    async def wait(self) -> ExitStatus:
        """The end."""
        return await asyncio.shield(self._ended)

    async def terminate(self, *, grace: float) -> None:
        """It ends at once when it is asked."""
        if not self._ended.done():
            self._ended.set_result(ExitStatus(code=_FAILED if grace > 0 else SIGKILL_EXIT))
            await self._heads.close(self._head)


class WorkerPod:
    """A worker's container. Told to end it drains itself first; killed, it is missed only after a while."""

    def __init__(self, heads: Heads, options: StartOptions, pod: Pod, *, ip: str) -> None:
        self._heads = heads
        self._options = options
        self._namespace = pod["metadata"]["namespace"]
        self._ip = ip
        self._head: RayHead | None = None
        self._node: RayNode | None = None
        self._joined = asyncio.Event()
        self._ended: asyncio.Future[ExitStatus] = asyncio.get_running_loop().create_future()
        self._life = asyncio.create_task(self._live())

    async def ready(self) -> None:
        """When its raylet is healthy."""
        await self._joined.wait()

    async def wait(self) -> ExitStatus:
        """The end."""
        return await asyncio.shield(self._ended)

    async def terminate(self, *, grace: float) -> None:
        """Leave when nothing runs here (any more), or are killed when the grace is over."""
        if self._ended.done():
            return
        self._life.cancel()
        if grace > 0 and await self._drained(grace):
            self._end(_FAILED)
            return
        self._vanish(grace)
        self._end(SIGKILL_EXIT)

    def _vanish(self, grace: float) -> None:
        """The process is killed. With a pod that is deleted by force goes its network, and nobody says no."""
        timing = self._heads.timing
        if self._head is None or self._node is None:
            return
        if grace > _FORCED:
            self._head.lose(self._node, noticed=timing.ray_node_killed)
        else:
            why = Death.DRAINED if grace > 0 else Death.LOST
            self._head.lose(self._node, noticed=timing.ray_node_death, why=why)

    async def _live(self) -> None:
        await self._heads.clock.sleep(self._heads.timing.ray_join)
        head = await self._heads.reached(self._options.address, namespace=self._namespace)
        self._head, self._node = head, head.join(self._options, ip=self._ip)
        self._joined.set()
        await head.gone.wait()
        await self._heads.clock.sleep(self._heads.timing.ray_head_lost)
        self._end(_FAILED)

    async def _drained(self, grace: float) -> bool:
        """Whether it could leave by itself within the grace."""
        clock, timing = self._heads.clock, self._heads.timing
        head, node = self._head, self._node
        if head is None or node is None:
            return True
        head.drain(node.node_id, only_idle=False)
        # What was asked for decides, however fast this sandbox is.
        whole = grace >= _DRAIN
        await first(head.idle(node), clock.sleep(timing.ray_drain if whole else grace))
        if head.is_busy(node) and not whole:
            return False
        await first(clock.sleep(timing.ray_leave), clock.sleep(grace))
        head.leave(node)
        return True

    def _end(self, code: int) -> None:
        if not self._ended.done():
            self._ended.set_result(ExitStatus(code=code))
