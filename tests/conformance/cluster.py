"""An API server with all controllers at work, as conformance tests use it: either world looks the same."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import httpx
from conformance.make import Json, Make
from conformance.recording import Recording, path
from conformance.story import Names, tell

from k8s_bridge.sandbox.apiserver.kinds import BY_KIND, NAMESPACES, NODES, Kind

_MERGE = {"Content-Type": "application/merge-patch+json"}
_BY_WORD = {kind.kind.lower(): kind for kind in BY_KIND.values()}


class Side(StrEnum):
    """Which world it is."""

    SANDBOX = "sandbox"
    TESTBED = "testbed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Seconds: how long a thing may take, and how long it is silent when nothing more will happen."""

    patience: float
    quiet: float


PACES = {Side.SANDBOX: Pace(patience=30.0, quiet=0.15), Side.TESTBED: Pace(patience=60.0, quiet=1.0)}


class Cluster:
    """A namespace of one test. Objects are called as in stories: see conformance.story."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        recording: Recording,
        *,
        namespace: str,
        side: Side,
        power_off: Callable[[str], Any],
    ) -> None:
        self.http = http
        self.namespace = namespace
        self.side = side
        self.make = Make(namespace)
        self.power_off = power_off
        self._recording = recording
        self._pace = PACES[side]

    @classmethod
    @contextlib.asynccontextmanager
    async def open(
        cls, how: dict[str, Any], *, namespace: str, side: Side, power_off: Callable[[str], Any]
    ) -> AsyncIterator[Cluster]:
        """Make the namespace and record everything in it. `how`: how httpx reaches the API server."""
        timeout, limits = httpx.Timeout(20.0, read=None), httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(**how, timeout=timeout, limits=limits) as http:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            (await http.post(path(NAMESPACES, ""), json=body)).raise_for_status()
            async with Recording.of(http, namespace) as recording:
                yield cls(http, recording, namespace=namespace, side=side, power_off=power_off)

    async def furnish(self, *, quota: dict[str, str] | None = None, **spec: Any) -> None:
        """What most tests need: LocalQueue `lq` of ClusterQueue `cq` (one CPU), classes `low` and `high`."""
        make = self.make
        for manifest in (
            make.flavor("default"),
            make.priority_class("low", 10),
            make.priority_class("high", 1000),
            make.cluster_queue("cq", quota=quota or {"cpu": "1"}, **spec),
            make.local_queue("lq", queue="cq"),
        ):
            await self.create(manifest)
        await self.sees("localqueue/lq", "Active=True")

    async def run(self, name: str, **how: Any) -> None:
        """Create a JobSet (see Make.jobset) and wait until its first pod runs."""
        await self.create(self.make.jobset(name, **how))
        await self.sees(f"pod/{name}-w-0-0", "phase=Running")

    async def queue(self, name: str, **how: Any) -> None:
        """Create a JobSet, and wait until Kueue has said why it waits."""
        await self.create(self.make.jobset(name, **how))
        await self.sees(f"workload/{name}", "QuotaReserved=False")

    async def create(self, manifest: Json) -> Json:
        """Create an object. AssertionError when it is refused."""
        return _accepted(await self.try_create(manifest))

    async def try_create(self, manifest: Json) -> httpx.Response:
        """The answer to an attempt to create an object."""
        return await self.http.post(
            path(BY_KIND[manifest["apiVersion"], manifest["kind"]], self.namespace), json=manifest
        )

    async def get(self, name: str) -> Json:
        """The object as it is now."""
        return _accepted(await self.http.get(self.path(name)))

    async def patch(self, name: str, patch: Json, *, subresource: str = "") -> Json:
        """Merge a patch into an object. AssertionError when it is refused."""
        return _accepted(await self.try_patch(name, patch, subresource=subresource))

    async def try_patch(self, name: str, patch: Json, *, subresource: str = "") -> httpx.Response:
        """The answer to an attempt to patch an object."""
        place = self.path(name) + (f"/{subresource}" if subresource else "")
        return await self.http.patch(place, json=patch, headers=_MERGE)

    async def delete(self, name: str, **options: Any) -> None:
        """Delete an object; `options` are metav1.DeleteOptions."""
        _accepted(await self.http.request("DELETE", self.path(name), json=options))

    async def evict(self, name: str) -> None:
        """Evict a pod by the API, as draining a node does."""
        path = self.path(name)
        meta = {"name": path.rpartition("/")[2], "namespace": self.namespace}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
        _accepted(await self.http.post(f"{path}/eviction", json=body))

    def path(self, name: str) -> str:
        """Where the API server has the object."""
        word, _, rest = name.partition("/")
        kind: Kind = _BY_WORD[word]
        given = rest if kind.namespaced or kind is NODES else self.make.own(rest)
        real = self._told()[0].real.get(name) or given
        return path(kind, self.namespace, real)

    def story(self, name: str, *, since: str = "created", leave_out: tuple[str, ...] = ()) -> list[str]:
        """What happened to an object from the first line that begins with `since`.

        Lines that begin with one of `leave_out` are left out.
        """
        lines = [line for about, line in self._told()[1] if about == name]
        start = next((at for at, line in enumerate(lines) if line.startswith(since)), len(lines))
        return [line for line in lines[start:] if not line.startswith(leave_out or ("\0",))]

    def events(self, name: str) -> list[str]:
        """The events about an object, each once, in the order of their first appearance."""
        names, _ = self._told()
        found = {}
        for entry in sorted(self._recording.entries, key=lambda e: e.version):
            obj = entry.obj
            if obj["kind"] == "Event" and names.by_uid.get(obj["involvedObject"].get("uid", "")) == name:
                found[f"{obj['type']} {obj['reason']}: {names.text(obj['message'])}"] = None
        return list(found)

    def order(self, *milestones: str) -> list[str]:
        """Those of the milestones (`object line`, the line may be cut) that happened, in their order."""
        found: list[str] = []
        for about, line in self._told()[1]:
            hit = next((m for m in milestones if m not in found and f"{about} {line}".startswith(m)), None)
            found += [hit] if hit else []
        return found

    async def sees(self, name: str, line: str, *, patience: float = 1.0) -> None:
        """Wait until the story of an object has a line that begins so; `patience` times as long as usual."""
        await self._until(
            lambda: any(told.startswith(line) for told in self.story(name)),
            what=f"{name} said {line!r}",
            patience=patience,
        )

    async def hears(self, name: str, event: str) -> None:
        """Wait until the event was told of an object: it comes after what it tells of."""
        await self._until(lambda: event in self.events(name), what=f"{event!r} was told of {name}")

    async def _until(self, holds: Callable[[], bool], *, what: str, patience: float = 1.0) -> None:
        deadline = time.monotonic() + self._pace.patience * patience
        while not holds():
            left = deadline - time.monotonic()
            if left <= 0 or not await self._recording.news(left):
                raise AssertionError(f"it never was that {what}:\n{self.everything()}")

    async def quiet(self) -> None:
        """Wait until nothing more happens: nothing twice in a row, for a busy machine may have slept once."""
        silent = 0
        while silent < 2:
            silent = 0 if await self._recording.news(self._pace.quiet) else silent + 1

    def everything(self) -> str:
        """The whole story, for whoever waited in vain."""
        return "\n".join(
            f"{about} {line}" for about, line in self._told()[1] if not about.startswith("event/")
        )

    def _told(self) -> tuple[Names, list[tuple[str, str]]]:
        names = Names(self.namespace)
        return names, list(tell(self._recording.entries, names))


def _accepted(answer: httpx.Response) -> Json:
    assert not answer.is_error, f"{answer.request.method} {answer.request.url}: {answer.text}"
    return dict(answer.json())
