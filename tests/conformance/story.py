"""What happened to objects, as lines that a test can state: the same on every run and in both worlds.

An object is named `kind/name`: `jobset/a`, its `workload/a`, its `job/a-w-0`, that Job's `pod/a-w-0-0`; a
second one of the same name is `pod/a-w-0-0#2`. Its story has one line for each thing that changed: `created`,
`suspend=False`, `Evicted=True Preempted: …` (a condition with reason and message), `deleting`, `gone`.
What one write changed stands in alphabetical order. Numbers of active, ready and terminating pods, which
controllers write in batches, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

_RANDOM = re.compile(r"-[a-z0-9]{5}$")
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SECONDS = re.compile(r"\b(was|after) \d+s")
_POD_CONDITIONS = ("DisruptionTarget", "PodScheduled")
_UNSAID = {"active=True", "restarts=0", "suspend=False"}
"""What an object is by default: told when it changes, not when it is created."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One watch event. `version` is the store's revision, so it orders the changes of all objects."""

    version: int
    type: str
    obj: Json


@dataclass(slots=True)
class Names:
    """The stable names of objects. `prefix` is what this test has before the names it chose itself."""

    prefix: str
    by_uid: dict[str, str] = field(default_factory=dict)
    real: dict[str, str] = field(default_factory=dict)

    def learn(self, obj: Json) -> str:
        """The stable name of an object, given when it is first seen."""
        uid = obj["metadata"]["uid"]
        if uid not in self.by_uid:
            base = f"{obj['kind'].lower()}/{self._stem(obj)}"
            count = sum(name.partition("#")[0] == base for name in self.by_uid.values())
            self.by_uid[uid] = f"{base}#{count + 1}" if count else base
            self.real[self.by_uid[uid]] = obj["metadata"]["name"]
        return self.by_uid[uid]

    def _stem(self, obj: Json) -> str:
        meta = obj["metadata"]
        owner = next((o for o in meta.get("ownerReferences") or () if o.get("controller")), None)
        if obj["kind"] == "Workload" and owner:
            return str(owner["name"])
        if obj["kind"] == "Pod" and owner:
            return _RANDOM.sub("", meta["name"])
        return str(meta["name"]).removeprefix(f"{self.prefix}-")

    def text(self, message: str) -> str:
        """A message with stable names instead of generated ones, and without durations."""
        message = _UID.sub(lambda m: f"<{self.by_uid.get(m.group(0), 'unknown')}>", message)
        for name, real in self.real.items():
            if name.partition("/")[0] in ("pod", "workload"):
                message = message.replace(real, f"<{name}>")
        message = message.replace(f"{self.prefix}-", "").replace(f"{self.prefix}/", "")
        return _SECONDS.sub(r"\1 Ns", message)


def tell(entries: Iterable[Entry], names: Names) -> Iterator[tuple[str, str]]:
    """(object, line) of everything that changed, oldest first."""
    known: dict[str, dict[str, str]] = {}
    for entry in sorted(entries, key=lambda e: e.version):
        name = names.learn(entry.obj)
        if entry.type == "DELETED":
            yield name, "gone"
            continue
        new = {aspect: names.text(line) for aspect, line in _aspects(entry.obj)}
        if name not in known:
            yield name, "created"
        old = known.get(name, dict.fromkeys(new, ""))
        for aspect in sorted(old.keys() | new.keys()):
            line = new.get(aspect, f"no {aspect}")
            if old.get(aspect) != line and (name in known or line not in _UNSAID):
                yield name, line
        known[name] = new


def _aspects(obj: Json) -> Iterator[tuple[str, str]]:
    meta, status = obj["metadata"], obj.get("status") or {}
    if "deletionTimestamp" in meta:
        yield "deletion", "deleting"
    for condition in status.get("conditions") or ():
        if obj["kind"] != "Pod" or condition["type"] in _POD_CONDITIONS:
            yield condition["type"], _condition(condition)
    if of_kind := _OF_KIND.get(obj["kind"]):
        yield from of_kind(obj.get("spec") or {}, status)


def _condition(condition: Json) -> str:
    line = f"{condition['type']}={condition['status']}"
    reason, message = condition.get("reason"), condition.get("message")
    return line + (f" {reason}" if reason else "") + (f": {message}" if message else "")


def _workload(spec: Json, status: Json) -> Iterator[tuple[str, str]]:
    yield "active", f"active={spec.get('active', True)}"
    class_ = (spec.get("priorityClassRef") or {}).get("name", "no class")
    yield "priority", f"priority={spec.get('priority', 0)} ({class_})"
    yield "queue", f"queue={spec.get('queueName')}"
    if admission := status.get("admission"):
        yield "admission", f"admission={admission['clusterQueue']}"
    for pods in status.get("reclaimablePods") or ():
        yield "reclaimablePods", f"{pods['count']} pod(s) of {pods['name']} need no quota any more"
    if count := (status.get("requeueState") or {}).get("count"):
        yield "requeueState", f"requeued {count} times"
    for check in status.get("admissionChecks") or ():
        yield f"check {check['name']}", f"check {check['name']}={check['state']}: {check['message']}"


def _jobset(spec: Json, status: Json) -> Iterator[tuple[str, str]]:
    yield "suspend", f"suspend={bool(spec.get('suspend'))}"
    yield "restarts", f"restarts={status.get('restarts', 0)}"
    if state := status.get("terminalState"):
        yield "terminalState", f"terminalState={state}"


def _job(spec: Json, status: Json) -> Iterator[tuple[str, str]]:
    yield "suspend", f"suspend={bool(spec.get('suspend'))}"
    for number in ("failed", "succeeded"):
        if status.get(number):
            yield number, f"{number}={status[number]}"


def _pod(spec: Json, status: Json) -> Iterator[tuple[str, str]]:
    yield "phase", f"phase={status.get('phase')}" + (f" {status['reason']}" if status.get("reason") else "")
    if "schedulingGates" in spec:
        yield "gates", "gated by " + ", ".join(gate["name"] for gate in spec["schedulingGates"])
    for container in status.get("containerStatuses") or ():
        ((state, facts),) = container["state"].items()
        words = [container["name"], state, facts.get("reason"), facts.get("exitCode")]
        yield container["name"], " ".join(str(word) for word in words if word is not None)


def _node(spec: Json, status: Json) -> Iterator[tuple[str, str]]:
    del status
    for taint in spec.get("taints") or ():
        yield f"taint {taint['key']} {taint['effect']}", f"taint {taint['key']}:{taint['effect']}"


_OF_KIND = {"Workload": _workload, "JobSet": _jobset, "Job": _job, "Pod": _pod, "Node": _node}
