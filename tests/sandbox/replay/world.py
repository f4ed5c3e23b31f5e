"""The sandbox on virtual time, and the steps of a recording done to it.

A recording of 40 seconds replays in a fraction of one, with the real delays between everything.
"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import yaml
from sandbox.replay.stream import Entry, Json
from support.virtual import LoopClock

from k8s_bridge.sandbox.apiserver import kinds
from k8s_bridge.sandbox.apiserver.history import Change
from k8s_bridge.sandbox.apiserver.kinds import Kind
from k8s_bridge.sandbox.apiserver.patches import PatchType
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.controllers.manager import Controllers
from k8s_bridge.sandbox.controllers.nodes import node_manifest
from k8s_bridge.sandbox.controllers.timing import REALISTIC
from k8s_bridge.sandbox.policies.engine import serve_policies
from k8s_bridge.sandbox.ray_fake import Heads, Serving

FIXTURES = Path(__file__).parents[2] / "fixtures" / "kube"
_PLURALS = (
    {k.kind: k for k in kinds.ALL} | {k.plural: k for k in kinds.ALL} | {k.kind.lower(): k for k in kinds.ALL}
)
_READY = 20.0  # seconds for a Ray head to come up
_BEFORE = dict.fromkeys(("21", "22"), ("raycluster.yaml",)) | dict.fromkeys(
    ("23", "24", "25"), ("raycluster.yaml", "inner-rayjob-policy.yaml")
)
_SETTLE = 5.0  # seconds for the queues to come up before the first step


def recording(number: str) -> list[Json]:
    """The lines of a recording: the first tells what it is about."""
    (path,) = FIXTURES.glob(f"{number}-*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def entries(lines: list[Json]) -> list[Entry]:
    """The watch events of a recording."""
    return [
        Entry(t=x["t"], kind=x["kind"], type=x["type"], obj=x["object"]) for x in lines[1:] if "object" in x
    ]


class World:
    """A sandbox with two nodes, the queue `lq` on ClusterQueue `pool`, and the classes of the recordings."""

    def __init__(self, before: Sequence[str] = ()) -> None:
        """`before`: manifests of what was there when the recording began."""
        self.storage = Storage(clock=LoopClock())
        serve_policies(self.storage)
        ray = Heads(self.storage.clock, timing=REALISTIC, serving=Serving.NOWHERE)
        self.controllers = Controllers(self.storage, ray=ray)
        self._before = before
        self.seen: list[Entry] = []
        self.origin = 0.0

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self.controllers.run())
        for kind, obj in _furniture():
            self.storage.create(kind, obj)
        await asyncio.sleep(_SETTLE)
        for name in self._before:
            self.create_from(name)
            await asyncio.sleep(_READY)
        self.origin = asyncio.get_running_loop().time()
        for kind in kinds.ALL:
            self.storage.subscribe(kind, self._recorder(kind))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        assert self.controllers.engine.failures == 0

    def _recorder(self, kind: Kind) -> Callable[[Change, Json], None]:
        def record(change: Change, obj: Json) -> None:
            t = asyncio.get_running_loop().time() - self.origin
            self.seen.append(Entry(t=t, kind=kind.plural, type=str(change), obj=obj))

        return record

    def create_from(self, manifest: str) -> None:
        """Create what a manifest of the recordings says."""
        for document in yaml.safe_load_all((FIXTURES / "manifests" / manifest).read_text()):
            kind = kinds.BY_KIND[document["apiVersion"], document["kind"]]
            place = {"namespace": "default"} if kind.namespaced else {}
            self.storage.create(kind, document | {"metadata": document["metadata"] | place})

    async def until(self, t: float) -> None:
        """Let time pass until `t` seconds after the first step."""
        await asyncio.sleep(max(0.0, self.origin + t - asyncio.get_running_loop().time()))


def _furniture() -> list[tuple[Kind, Json]]:
    nodes = [node_manifest(f"node{n}", {"cpu": "2", "memory": "24478856Ki"}) for n in (1, 2)]
    queue = {
        "namespaceSelector": {},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [_group("default", cpu="2", memory="4Gi")],
    }
    return [
        *((kinds.NODES, node) for node in nodes),
        *((kinds.PODS, _system_pod(node, cpu)) for node, cpu in (("node1", "150m"), ("node2", "100m"))),
        (kinds.RESOURCEFLAVORS, {"metadata": {"name": "default"}, "spec": {}}),
        *(
            (kinds.PRIORITYCLASSES, {"metadata": {"name": n}, "value": v})
            for n, v in (("low", 10), ("high", 1000))
        ),
        (kinds.CLUSTERQUEUES, {"metadata": {"name": "pool"}, "spec": queue}),
        (
            kinds.LOCALQUEUES,
            {"metadata": {"name": "lq", "namespace": "default"}, "spec": {"clusterQueue": "pool"}},
        ),
    ]


def _system_pod(node: str, cpu: str) -> Json:
    """What stands for the control plane's own pods: no node has room for two pods of 1 cpu."""
    container = {"name": "c", "image": "system:1", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": f"system-{node}", "namespace": "kube-system"},
        "spec": {"nodeName": node, "containers": [container]},
    }


def _group(flavor: str, *, cpu: str, memory: str) -> Json:
    quotas = [{"name": "cpu", "nominalQuota": cpu}, {"name": "memory", "nominalQuota": memory}]
    return {"coveredResources": ["cpu", "memory"], "flavors": [{"name": flavor, "resources": quotas}]}


# Objects that were applied in the recordings but whose kind was not watched.
_UNWATCHED: dict[str, Json] = {
    "WorkloadPriorityClass/nosuch": {"value": 5},
    "Topology/racks": {
        "spec": {
            "levels": [{"nodeLabel": f"example.com/{x}"} for x in ("block", "rack")]
            + [{"nodeLabel": "kubernetes.io/hostname"}]
        }
    },
    "ResourceFlavor/tas": {"spec": {"nodeLabels": {"example.com/block": "b1"}, "topologyName": "racks"}},
    "AdmissionCheck/chk": {"spec": {"controllerName": "example.com/by-hand"}},
}


async def replay(number: str) -> tuple[list[Entry], list[Entry]]:
    """Do a recording's steps at its times; answers what was recorded and what the sandbox showed."""
    lines = recording(number)
    recorded = entries(lines)
    async with World(_BEFORE.get(number, ())) as world:
        for index, line in enumerate(lines):
            if line.get("kind") == "STEP":
                await world.until(line["t"])
                await Step(world, lines[index + 1 :]).do(line["type"])
        await world.until(lines[-1]["t"])
        return recorded, world.seen


class Step:
    """One thing a person did, as kubectl was told; `after` are the lines of the recording that follow."""

    def __init__(self, world: World, after: list[Json]) -> None:
        self._world = world
        self._storage = world.storage
        self._after = after

    async def do(self, text: str) -> None:
        """Do it."""
        verb, _, rest = text.partition(" ")
        match verb:
            case "apply":
                self._apply(rest)
            case "delete":
                self._delete(shlex.split(rest))
            case "patch":
                self._patch(rest)
            case "label":
                self._label(shlex.split(rest))
            case "cordon":
                self._storage.patch(kinds.NODES, "", rest, {"spec": {"unschedulable": True}})
            case _:
                assert text == "node2 loses power (its pid 1 is killed)", text
                await self._world.controllers.nodes.power_off("node2")

    def _apply(self, what: str) -> None:
        if what.startswith("-f "):
            self._world.create_from(what.rpartition("/")[2])
            return
        kind_name, _, name = what.partition("/")
        kind = _PLURALS[kind_name]
        body = _UNWATCHED.get(what) or self._recorded(kind, name)
        labels = body.get("labels") or {}
        meta = {"name": name, "labels": labels, **({"namespace": "default"} if kind.namespaced else {})}
        self._storage.create(kind, {"metadata": meta, **{k: v for k, v in body.items() if k != "labels"}})

    def _recorded(self, kind: Kind, name: str) -> Json:
        for line in self._after:
            if (
                line["kind"] == kind.plural
                and line["type"] == "ADDED"
                and line["object"]["metadata"]["name"] == name
            ):
                obj = line["object"]
                labels = _QUEUED if kind is kinds.RAYJOBS else obj["metadata"].get("labels")
                return {"labels": labels, "spec": _as_applied(kind, obj["spec"])}
        raise AssertionError(f"{kind.kind}/{name} is not in the recording")

    def _delete(self, words: list[str]) -> None:
        names = [w for w in words if not w.startswith("--")]
        force = "--force" in words
        if "/" in names[0]:
            kind_name, _, name = names[0].partition("/")
            names = [kind_name.partition(".")[0], name]
        kind = _PLURALS[names[0]]
        for name in names[1:]:
            grace = 0 if force else None
            self._storage.delete(
                kind, "default" if kind.namespaced else "", self._current(kind, name), grace_seconds=grace
            )

    def _current(self, kind: Kind, name: str) -> str:
        """The sandbox's own name for an object with a generated one."""
        if kind not in (kinds.PODS, kinds.WORKLOADS):
            return name
        stem = name.rpartition("-")[0]
        found = [
            o["metadata"]["name"]
            for o in self._storage.list(kind)
            if o["metadata"]["name"].startswith(f"{stem}-")
        ]
        assert len(found) == 1, f"{name}: {found}"
        return found[0]

    def _patch(self, rest: str) -> None:
        words = rest.split()
        target = words[0] if "/" in words[0] else words[1]
        kind_name = words[0].partition("/")[0].partition(".")[0]
        kind, name = _PLURALS[kind_name], target.rpartition("/")[2]
        namespace = "default" if kind.namespaced else ""
        if kind is kinds.WORKLOADS and "--subresource=status" in rest:
            checks = self._next_checks(name)
            patch, subresource = {"status": {"admissionChecks": checks}}, "status"
        else:
            patch = _json_in(rest)
            subresource = "status" if "--subresource=status" in rest else ""
        how = PatchType.JSON if "--type=json" in rest else PatchType.MERGE
        name = self._current(kind, name)
        self._storage.patch(kind, namespace, name, patch, patch_type=how, subresource=subresource)

    def _next_checks(self, name: str) -> list[Json]:
        """What the person wrote: the step's text was cut, the next version of the Workload was not."""
        workloads = (x["object"] for x in self._after if x["kind"] == "workloads")
        found = next(w for w in workloads if w["metadata"]["name"] == name)
        checks: list[Json] = found["status"]["admissionChecks"]
        return checks

    def _label(self, words: list[str]) -> None:
        kind, name = _PLURALS[words[0]], words[1]
        labels = dict(w.split("=", 1) for w in words[2:] if not w.startswith("--"))
        namespace = "default" if kind.namespaced else ""
        self._storage.patch(kind, namespace, name, {"metadata": {"labels": labels}})


_QUEUED = {"kueue.x-k8s.io/queue-name": "lq"}
"""What all RayJobs of the recordings were applied with, before Kueue and policies changed them."""


def _json_in(text: str) -> Json:
    """The document of a kubectl patch; the recorded text may lack closing braces."""
    document = text[text.index("-p '") + 4 :].rstrip("'")
    while True:
        try:
            found: Json = json.loads(document)
        except json.JSONDecodeError:
            assert document.count("{") > document.count("}"), document
            document += "}"
        else:
            return found


def _as_applied(kind: Kind, spec: Json) -> Json:
    """What the person wrote, of what the API server made of it: a Job without its own selector and marks."""
    if kind is kinds.RAYJOBS:
        return {name: value for name, value in spec.items() if name != "suspend"}
    if kind is not kinds.JOBS:
        return spec
    template = spec["template"]
    kept = {k: v for k, v in spec.items() if k not in ("selector", "manualSelector")}
    return kept | {"template": {"metadata": {}, "spec": template["spec"]}}
