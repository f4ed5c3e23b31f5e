"""Objects for the tests of the sandbox's controllers, and waiting on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from sandbox.replay.world import World
from support.virtual import run_virtually

from k8s_bridge.sandbox.apiserver import kinds
from k8s_bridge.sandbox.controllers import conditions

Json = dict[str, Any]


def jobset(
    name: str,
    *,
    pods: int = 1,
    command: str = "sleep 600",
    cpu: str = "1",
    priority: str = "low",
    queue: str = "lq",
    job: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    pod: Mapping[str, Any] | None = None,
    resources: Mapping[str, str] | None = None,
) -> Json:
    requests = {"cpu": cpu, "memory": "32Mi", **(resources or {})}
    container = {
        "name": "c",
        "image": "busybox:1",
        "command": ["sh", "-c", command],
        "resources": {"requests": requests},
    }
    pod_spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 2,
        "containers": [container],
        **(pod or {}),
    }
    template = {
        "spec": {
            "completions": pods,
            "parallelism": pods,
            "backoffLimit": 4,
            "template": {"spec": pod_spec},
            **(job or {}),
        }
    }
    labels = {"kueue.x-k8s.io/queue-name": queue, "kueue.x-k8s.io/priority-class": priority}
    return {
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"replicatedJobs": [{"name": "w", "template": template}], **(spec or {})},
    }


class Lab:
    """A world with short ways to ask it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.storage = world.storage

    def submit(self, *jobsets: Json) -> None:
        for manifest in jobsets:
            self.storage.create(kinds.JOBSETS, manifest)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def running(self) -> list[str]:
        return sorted(
            j["metadata"]["name"] for j in self.storage.list(kinds.JOBSETS) if not j["spec"]["suspend"]
        )

    def jobset(self, name: str) -> Json:
        return self.storage.get(kinds.JOBSETS, "default", name)

    def job(self, name: str) -> Json:
        return self.storage.get(kinds.JOBS, "default", f"{name}-w-0")

    def workload(self, name: str) -> Json:
        found = [
            w
            for w in self.storage.list(kinds.WORKLOADS)
            if w["metadata"]["name"].startswith(f"jobset-{name}-")
        ]
        assert len(found) == 1
        return found[0]

    def why(self, name: str) -> str:
        condition = conditions.find(self.workload(name), "QuotaReserved")
        assert condition is not None
        return str(condition["message"])

    def pods(self, name: str) -> list[Json]:
        return [p for p in self.storage.list(kinds.PODS) if p["metadata"]["name"].startswith(f"{name}-w-0-")]


def in_lab(test: Callable[[Lab], Coroutine[Any, Any, None]]) -> None:
    """Run a test in a fresh world on virtual time."""

    async def work() -> None:
        async with World() as world:
            await test(Lab(world))

    run_virtually(work)
