"""Pods whose main container is slurmd, backed by a real slurmd process or by a node of the fake cluster.

What a pod asks for stands in its container's arguments, written for an entrypoint that splits them once more
by shell rules. A slurmd that ends is a failed pod, whatever its own exit code says: no end means success.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from weakref import WeakValueDictionary

from k8s_bridge.sandbox.controllers.kubelet_runtime import (
    SIGKILL_EXIT,
    ExitStatus,
    Pod,
    PodEnv,
    RunningPod,
    main_container,
)
from k8s_bridge.sandbox.controllers.simulated_runtime import pull
from k8s_bridge.sandbox.slurm_fake import FakeSlurm
from k8s_bridge.sandbox.slurm_real import RealSlurm, SlurmdProcess

CONTAINER = "slurmd"
GRACE = "SLURMD_GRACE"
"""Variable of a pod whose slurmd, told to end, waits for so many seconds while jobs run on it."""
_FAILED = 1
_LOOK = 0.05
_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)|\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_WITH_VALUE = frozenset({"-N", "--conf", "--conf-server"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmdArguments:
    """The node's name, its `--conf`, and slurmd's options that take no value, such as -b."""

    name: str
    conf: str
    options: tuple[str, ...] = ()


def slurmd_arguments(pod: Pod, env: PodEnv) -> SlurmdArguments:
    """What the slurmd container of a pod says; raises ValueError when it names no node or no conf."""
    joined = " ".join(_expanded(text, env) for text in main_container(pod).get("args", ()))
    words = iter(shlex.split(joined))
    values: dict[str, str] = {}
    options = tuple(_options(words, values))
    if not values.get("-N") or "--conf" not in values:
        raise ValueError(f"slurmd: no -N or no --conf in: {joined}")
    return SlurmdArguments(name=values["-N"], conf=values["--conf"], options=options)


class RealSlurmdRuntime:
    """Runs a real slurmd for each pod; its jobs are real processes that end with the pod."""

    def __init__(self, slurm: RealSlurm) -> None:
        self._slurm = slurm

    async def start(self, pod: Pod, env: PodEnv) -> RunningPod:
        """Start slurmd."""
        try:
            asked = slurmd_arguments(pod, env)
        except ValueError as error:
            return _Ended(str(error))
        process = self._slurm.slurmd(asked.name, asked.conf, options=asked.options)
        return _RealPod(process, grace=float(env.variables.get(GRACE, 0)))


class FakeSlurmdRuntime:
    """Registers a node of the fake cluster for each pod."""

    def __init__(self, slurm: FakeSlurm) -> None:
        self._slurm = slurm
        self._pods: WeakValueDictionary[str, _FakePod] = WeakValueDictionary()

    def oom_kill(self, name: str) -> None:
        """The kernel ends a pod that is over its memory limit; LookupError when none of that name runs."""
        self._pods[name].end(ExitStatus(code=SIGKILL_EXIT, cause="OOMKilled"))

    async def start(self, pod: Pod, env: PodEnv) -> RunningPod:
        """Register the node."""
        pull(main_container(pod).get("image", ""))
        try:
            asked = slurmd_arguments(pod, env)
            self._slurm.register_node(asked.name, asked.conf)
        except ValueError as error:
            return _Ended(str(error))
        grace = float(env.variables.get(GRACE, 0))
        self._pods[asked.name] = started = _FakePod(self._slurm, name=asked.name, grace=grace)
        return started


class _Ended:
    """A pod whose slurmd could not even start."""

    def __init__(self, message: str) -> None:
        self._status = ExitStatus(code=_FAILED, message=message)

    async def ready(self) -> None:
        await asyncio.Event().wait()

    async def wait(self) -> ExitStatus:
        return self._status

    async def terminate(self, *, grace: float) -> None:
        """Nothing is left to end, at whatever grace."""


class _RealPod:
    def __init__(self, slurmd: SlurmdProcess, *, grace: float) -> None:
        self._slurmd = slurmd
        self._grace = grace

    async def ready(self) -> None:
        if not await self._slurmd.listening():
            await asyncio.Event().wait()

    async def wait(self) -> ExitStatus:
        return ExitStatus(code=await self._slurmd.wait() or _FAILED)

    async def terminate(self, *, grace: float) -> None:
        if grace > 0:
            await _while_busy(lambda: self._slurmd.alive and self._slurmd.runs_steps, seconds=self._grace)
            await self._slurmd.terminate(grace=grace)
        else:
            await self._slurmd.kill()


class _FakePod:
    def __init__(self, slurm: FakeSlurm, *, name: str, grace: float) -> None:
        self._slurm = slurm
        self._name = name
        self._grace = grace
        self._ended = asyncio.Event()
        self._status = ExitStatus(code=_FAILED)

    async def ready(self) -> None:
        """At once: the node registered when it started."""

    async def wait(self) -> ExitStatus:
        await self._ended.wait()
        return self._status

    async def terminate(self, *, grace: float) -> None:
        if grace > 0:
            await _while_busy(self._is_busy, seconds=self._grace)
        self.end(ExitStatus(code=_FAILED if grace > 0 else SIGKILL_EXIT))

    def _is_busy(self) -> bool:
        node = self._slurm.nodes.get(self._name)
        return bool(node and node.shares) and not self._ended.is_set()

    def end(self, status: ExitStatus) -> None:
        if self._ended.is_set():
            return
        self._status = status
        self._slurm.lose_node(self._name)
        self._ended.set()


async def _while_busy(busy: Callable[[], bool], *, seconds: float) -> None:
    """As long as jobs run there, for so many seconds at most."""
    end = time.monotonic() + seconds
    while busy() and time.monotonic() < end:  # noqa: ASYNC110 - processes set no event
        await asyncio.sleep(_LOOK)


def _expanded(text: str, env: PodEnv) -> str:
    def value(match: re.Match[str]) -> str:
        return env.variables.get(match[1] or match[2], match[0])

    return _REFERENCE.sub(value, text)


def _options(words: Iterator[str], values: dict[str, str]) -> Iterator[str]:
    for word in words:
        name, equals, value = word.partition("=")
        if name in _WITH_VALUE:
            values[name] = value if equals else next(words, "")
        elif word not in ("-D", "-Z"):
            yield word
