"""KubeRay's submitter: `ray job submit`, then `ray job logs --follow` to the end."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Mapping

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.controllers.kubelet_runtime import SIGKILL_EXIT, ExitStatus, Pod
from k8s_bridge.sandbox.ray_fake.head import RayHead
from k8s_bridge.sandbox.ray_fake.heads import Heads
from k8s_bridge.sandbox.ray_fake.racing import first

_SUBMIT = re.compile(
    r"ray job submit\s+(?P<options>.*?)\s--\s+(?P<entrypoint>.*?)(?:\s*;\s*fi\b.*)?$", re.DOTALL
)
_WRAPPER = re.compile(r"^ray\(\) \{.*?\}; ", re.DOTALL)
_ADDED = re.compile(r'(--[a-z-]+) "\$(\w+)"')
_FAILED = 1


def submission(text: str, environment: Mapping[str, str]) -> Json:
    """`address`, and the body that the command posts. ValueError when it cannot be read.

    A shell function `ray` before it may add options from variables; of two of a name the last counts.
    """
    found = _SUBMIT.search(text)
    if found is None:
        raise ValueError(f"no ray job submit in: {text}")
    wrapper = _WRAPPER.match(text)
    added = _ADDED.findall(wrapper[0]) if wrapper else ()
    more = [word for option, name in added if environment.get(name) for word in (option, environment[name])]
    words = iter([*shlex.split(found["options"]), *more])
    options = {word[2:]: next(words, "") for word in words if word != "--no-wait"}
    return {
        "address": options.get("address", ""),
        "submission_id": options.get("submission-id"),
        "entrypoint": found["entrypoint"].rstrip(" ;"),
        "entrypoint_num_cpus": float(options.get("entrypoint-num-cpus", 0)),
        "entrypoint_num_gpus": float(options.get("entrypoint-num-gpus", 0)),
        "entrypoint_resources": json.loads(options.get("entrypoint-resources", "{}")),
        "runtime_env": json.loads(options.get("runtime-env-json", "{}")),
        "metadata": json.loads(options.get("metadata-json", "{}")),
    }


class SubmitterPod:
    """One run of the command. The shell does not care for SIGTERM: it ends with what it waits for."""

    def __init__(self, heads: Heads, body: Json, pod: Pod) -> None:
        self._heads = heads
        self._body = body
        self._namespace = pod["metadata"]["namespace"]
        self._ended: asyncio.Future[ExitStatus] = asyncio.get_running_loop().create_future()
        self._life = asyncio.create_task(self._live())

    async def ready(self) -> None:
        """At once."""

    async def wait(self) -> ExitStatus:
        """The end."""
        return await asyncio.shield(self._ended)

    async def terminate(self, *, grace: float) -> None:
        """Wait the grace out, then kill."""
        if grace > 0:
            await first(self.wait(), self._heads.clock.sleep(grace))
        self._life.cancel()
        self._end(SIGKILL_EXIT)

    async def _live(self) -> None:
        await self._heads.clock.sleep(self._heads.timing.ray_submit)
        head = self._heads.find(self._body["address"], namespace=self._namespace)
        if head is None:
            self._end(_FAILED)
            return
        if self._body["submission_id"] not in head.jobs:
            head.submit(self._body)
        await self._follow(head, self._body["submission_id"])

    async def _follow(self, head: RayHead, name: str) -> None:
        job, down = head.jobs[name], head.down
        await first(job.over.wait(), down.wait(), head.silenced(job))
        await self._heads.clock.sleep(self._heads.timing.ray_logs_end)
        self._end(_FAILED if down.is_set() else 0)

    def _end(self, code: int) -> None:
        if not self._ended.done():
            self._ended.set_result(ExitStatus(code=code))
