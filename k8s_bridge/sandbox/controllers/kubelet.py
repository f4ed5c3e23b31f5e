"""All kubelets of the sandbox: each bound pod is brought to life, watched, and ended when it is deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.history import Change
from k8s_bridge.sandbox.apiserver.kinds import PODS
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.controllers import pod_status
from k8s_bridge.sandbox.controllers.api import Api, is_deleted, key_of
from k8s_bridge.sandbox.controllers.engine import Engine
from k8s_bridge.sandbox.controllers.kubelet_runtime import (
    SIGKILL_EXIT,
    ExitStatus,
    ImagePullError,
    PodEnv,
    RunningPod,
    SelectRuntime,
    main_container,
)
from k8s_bridge.sandbox.controllers.pod_env import variables
from k8s_bridge.sandbox.controllers.timing import Timing

_DONE = ("Succeeded", "Failed")
_IP = "127.0.0.1"
_START_ERROR = 128  # the exit code a kubelet reports when the container could not be started
_LEAST_GRACE = 2  # seconds that a kubelet gives a container however little was asked for
_NEVER_RAN = ExitStatus(
    code=SIGKILL_EXIT,
    cause="ContainerStatusUnknown",
    message="The container could not be located when the pod was terminated",
)


@dataclass(slots=True, eq=False)
class _Life:
    """One pod on one node."""

    key: Key
    uid: str
    node: str
    ip: str = _IP
    deleted: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    running: RunningPod | None = None


class Kubelets:
    """Starts a life for each pod that is bound to a node with power."""

    def __init__(
        self,
        api: Api,
        engine: Engine,
        *,
        timing: Timing,
        select: SelectRuntime,
        address: Callable[[Json], str] = lambda _pod: _IP,
    ) -> None:
        self._api = api
        self._engine = engine
        self._timing = timing
        self._select = select
        self._address = address
        self._lives: dict[str, _Life] = {}
        self._dark: set[str] = set()
        api.storage.subscribe(PODS, self._pod_changed)

    def is_dark(self, node: str) -> bool:
        """Whether the node has lost power."""
        return node in self._dark

    async def power_off(self, node: str) -> None:
        """The node dies: its processes end, and nobody reports it."""
        self._dark.add(node)
        for life in [x for x in self._lives.values() if x.node == node]:
            if life.task:
                life.task.cancel()
            if life.running:
                await life.running.terminate(grace=0)
            self._lives.pop(life.uid, None)

    async def kill(self, uid: str) -> None:
        """The main process of a pod dies (a crash, the OOM killer); a pod without one is left alone."""
        life = self._lives.get(uid)
        if life and life.running:
            await life.running.terminate(grace=0)

    def power_on(self, node: str) -> None:
        """The node boots: it finds its pods' containers gone."""
        self._dark.discard(node)
        for pod in self._api.storage.list(PODS):
            self._pod_changed(Change.MODIFIED, pod)

    def _pod_changed(self, change: Change, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        if life := self._lives.get(uid):
            if change is Change.DELETED or is_deleted(pod):
                life.deleted.set()
        elif change is not Change.DELETED and self._is_mine(pod):
            self._begin(pod)

    def _is_mine(self, pod: Json) -> bool:
        node = pod["spec"].get("nodeName")
        return bool(node) and node not in self._dark and pod["status"]["phase"] not in _DONE

    def _begin(self, pod: Json) -> None:
        uid, node = pod["metadata"]["uid"], pod["spec"]["nodeName"]
        life = _Life(key=key_of(pod), uid=uid, node=node, ip=self._address(pod))
        if is_deleted(pod):
            life.deleted.set()
        self._lives[life.uid] = life
        life.task = self._engine.spawn(self._live(life, pod))

    async def _live(self, life: _Life, pod: Json) -> None:
        try:
            if pod["status"]["phase"] == "Running":  # the node was without power: nothing runs any more
                await self._end(life, ExitStatus(code=255), started=self._api.stamp)
            else:
                await self._start(life)
        finally:
            if life.running and not life.deleted.is_set():
                await life.running.terminate(grace=0)
            self._lives.pop(life.uid, None)

    async def _start(self, life: _Life) -> None:
        await self._api.storage.clock.sleep(self._timing.container_creating)
        pod = self._creating(life)
        if pod is None or await self._deleted_within(life, self._timing.container_start):
            await self._end_unstarted(life)
            return
        try:
            life.running = await self._run(life, pod)
        except Exception as error:  # noqa: BLE001 - a runtime that cannot start a pod fails that pod only
            end = ExitStatus(code=_START_ERROR, cause="StartError", message=str(error))
            await self._end(life, end, started=self._api.stamp)
            return
        if life.running is None:
            await self._end_unstarted(life)
            return
        self._event(life, "Started", "Container started")
        await self._watch(life, life.running)

    def _creating(self, life: _Life) -> Json | None:
        return self._report(life, lambda p: pod_status.creating(p, host=_IP, now=self._api.stamp))

    async def _end_unstarted(self, life: _Life) -> None:
        self._creating(life)
        await self._end(life, _NEVER_RAN, started=self._api.stamp)

    async def _run(self, life: _Life, pod: Json) -> RunningPod | None:
        """The running pod; None if it was deleted before its image could be had."""
        env = PodEnv(node=life.node, pod_ip=life.ip, variables=variables(pod, node=life.node, ip=life.ip))
        image = main_container(pod).get("image", "")
        while True:
            try:
                running = await self._select(pod).start(pod, env)
            except ImagePullError as error:
                if await self._pull_failed(life, image, str(error)):
                    return None
            else:
                self._event(life, "Pulled", f'Container image "{image}" already present on machine')
                return running

    async def _pull_failed(self, life: _Life, image: str, message: str) -> bool:
        """Report and back off; True if the pod was deleted meanwhile."""
        self._event(life, "Pulling", f'Pulling image "{image}"')
        if await self._deleted_within(life, self._timing.image_pull - self._timing.container_start):
            return True
        self._event(life, "Failed", f'Failed to pull image "{image}": {message}', warning=True)
        self._event(life, "Failed", "Error: ErrImagePull", warning=True)
        self._waiting(life, "ErrImagePull", message)
        if await self._deleted_within(life, self._timing.image_backoff):
            return True
        text = f'Back-off pulling image "{image}"'
        self._event(life, "BackOff", text)
        self._event(life, "Failed", "Error: ImagePullBackOff", warning=True)
        self._waiting(life, "ImagePullBackOff", text)
        return await self._deleted_within(life, self._timing.image_backoff)

    def _waiting(self, life: _Life, reason: str, message: str) -> None:
        now = self._api.stamp
        self._report(
            life, lambda p: pod_status.waiting(p, reason=reason, message=message, ip=life.ip, now=now)
        )

    async def _deleted_within(self, life: _Life, seconds: float) -> bool:
        sleep = asyncio.ensure_future(self._api.storage.clock.sleep(seconds))
        gone = asyncio.ensure_future(life.deleted.wait())
        await _first(sleep, gone)
        return life.deleted.is_set()

    async def _watch(self, life: _Life, running: RunningPod) -> None:
        started = self._api.stamp
        ready = asyncio.ensure_future(running.ready())
        await asyncio.sleep(0)
        self._running(life, ready=ready.done(), started=started)
        end = asyncio.ensure_future(running.wait())
        gone = asyncio.ensure_future(life.deleted.wait())
        try:
            while not end.done() and not gone.done():
                waiting = [f for f in (ready, end, gone) if not f.done()]
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if ready.done() and not end.done() and not gone.done():
                    self._running(life, ready=True, started=started)
        finally:
            _cancel(ready, gone)
        if end.done() and not life.deleted.is_set():
            await self._ended_by_itself(life, end.result(), started=started)
        else:
            await self._terminate(life, running, started=started)

    def _running(self, life: _Life, *, ready: bool, started: str) -> None:
        now = self._api.stamp
        self._report(life, lambda p: pod_status.running(p, ready=ready, ip=life.ip, started=started, now=now))

    async def _ended_by_itself(self, life: _Life, end: ExitStatus, *, started: str) -> None:
        now = self._api.stamp
        self._report(life, lambda p: pod_status.terminated(p, end, started=started, now=now))
        await self._api.storage.clock.sleep(self._timing.pod_end)
        self._report(life, lambda p: pod_status.ended(p, end, now=self._api.stamp))
        if life.deleted.is_set():
            await self._remove(life)

    async def _terminate(self, life: _Life, running: RunningPod, *, started: str) -> None:
        pod = self._find(life)
        asked = pod["metadata"].get("deletionGracePeriodSeconds", 0) if pod else 0
        if pod:
            self._event(life, "Killing", f"Stopping container {main_container(pod)['name']}")
        await running.terminate(grace=max(asked, _LEAST_GRACE))
        await self._end(life, await running.wait(), started=started)

    async def _end(self, life: _Life, end: ExitStatus, *, started: str) -> None:
        now = self._api.stamp

        def both(pod: Json) -> Json:
            ended = pod | {"status": pod_status.terminated(pod, end, started=started, now=now)}
            return pod_status.ended(ended, end, now=now)

        self._report(life, both)
        if life.deleted.is_set():
            await self._remove(life)

    async def _remove(self, life: _Life) -> None:
        await self._api.storage.clock.sleep(self._timing.pod_removal)
        if pod := self._find(life):
            self._api.delete(PODS, pod, grace_seconds=0)

    def _find(self, life: _Life) -> Json | None:
        pod = self._api.storage.find(PODS, *life.key)
        return pod if pod and pod["metadata"]["uid"] == life.uid else None

    def _report(self, life: _Life, change: object) -> Json | None:
        assert callable(change)
        pod = self._find(life)
        if pod is None or pod["status"]["phase"] in _DONE:
            return None
        return self._api.set_status(PODS, pod, change(pod))

    def _event(self, life: _Life, reason: str, message: str, *, warning: bool = False) -> None:
        if pod := self._find(life):
            self._api.event(pod, reason, message, source="kubelet", warning=warning)


async def _first(*futures: asyncio.Future[Any]) -> None:
    try:
        await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
    finally:
        _cancel(*futures)


def _cancel(*futures: asyncio.Future[Any]) -> None:
    for future in futures:
        future.cancel()
