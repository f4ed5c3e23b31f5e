"""A watch stream, recorded or produced, brought into a form in which two of them can be compared.

KEPT of each object, in order: every distinct state of
  Workload   all conditions (status, reason, message); the admission checks (state, message); active,
             priority, class, queue; where it is admitted (queue, flavors, usage, counts, topology); evictions
  JobSet     suspend, terminalState, restarts, all conditions with reason and message
  Job        suspend, active, failed, succeeded, completedIndexes, all conditions with reason and message
  Pod        phase with the state of its container (kind, reason, exit code); apart from that, whether it is
             being deleted and its DisruptionTarget condition
  RayJob     suspend, jobDeploymentStatus, jobStatus, reason, message, counts; whether it has an id, a URL …
  RayCluster suspend, state, whether it has a head pod and its address, all conditions with reason and message
  ClusterQueue, LocalQueue, Node: the Active and Ready conditions with reason and message; a node's taints
and that it is gone at the end. Of events: which object was told about, type, reason and message.

DROPPED: times, uids and generated names (they become `pod/a-w-0-0#1`: kind, name, and the how manieth of that
name); the order of conditions within a list; numbers of ready and terminating pods, and of queues (Kubernetes
writes them in batches, so which intermediate numbers show is chance); how deletion of a pod and the start of
its container interleave; how often the same event repeats; a stale write (a Workload's condition falls back
to a value that was already replaced and is put right within 0.1 s: Kueue's two writers overtake each other);
what a job in Ray was before it ended, if KubeRay's poll (3 s) caught it by chance only;
objects that were there before the recording began (leftovers of the scenario before); queues and nodes that
do not change; events of kubelets and of the scheduler.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
State = Hashable
STALE = 0.1
_RANDOM = re.compile(r"-[a-z0-9]{5}$")
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_WAITED = re.compile(r"was \d+s")
_STANDING = ("clusterqueues", "localqueues", "nodes")
_WATCHED = ("workloads", "jobsets", "jobs", "pods", "rayjobs", "rayclusters", *_STANDING)
_POLL = 3.5
_RAYJOB = ("jobDeploymentStatus", "jobStatus", "reason", "failed", "succeeded")
_RAYJOB_HAS = ("jobId", "dashboardURL", "rayClusterName", "startTime", "endTime")
_WHEN = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One watch event."""

    t: float
    kind: str
    type: str
    obj: Json


@dataclass(slots=True)
class Names:
    """Uids and generated names to names that mean the same in every run."""

    by_uid: dict[str, str] = field(default_factory=dict)
    by_name: dict[str, str] = field(default_factory=dict)
    uids: dict[tuple[str, str], str] = field(default_factory=dict)
    fresh: set[str] = field(default_factory=set)
    standing: set[str] = field(default_factory=set)
    _seen: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def learn(self, entry: Entry) -> str:
        """The stable name of the object; its first entry decides whether it is new in this stream."""
        meta = entry.obj["metadata"]
        uid, name = meta["uid"], meta["name"]
        if uid not in self.by_uid:
            stem = _RANDOM.sub("", name) if entry.kind in ("pods", "workloads") else name
            base = f"{entry.kind.removesuffix('s')}/{stem}"
            new = entry.type == "ADDED"
            if new or entry.kind in _STANDING:
                self._seen[base].append(uid)
                self.fresh.add(uid)
            self.by_uid[uid] = f"{base}#{len(self._seen[base])}" if uid in self.fresh else f"{base}#old"
            self.uids[base.partition("/")[0], name] = uid
            if not new:
                self.standing.add(self.by_uid[uid])
            if stem != name:
                self.by_name[name] = f"<{stem}>"
        if job_id := (entry.obj.get("status") or {}).get("jobId"):
            self.by_name[job_id] = f"<{name}>"
        return self.by_uid[uid]

    def text(self, message: str) -> str:
        """A message with stable names."""
        message = _UID.sub(lambda m: f"<{self.by_uid.get(m.group(0), 'unknown')}>", message)
        for name, stable in self.by_name.items():
            message = message.replace(name, stable)
        return _WHEN.sub("<when>", _WAITED.sub("was Ns", message))


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a stream tells: the states of each aspect of each object, with times, and the events."""

    states: dict[str, list[tuple[float, State]]]
    events: frozenset[tuple[str, str, str, str]]

    def sequence(self, name: str) -> list[State]:
        """The states of one aspect, in order."""
        return [state for _, state in self.states.get(name, [])]


def read(entries: Iterable[Entry]) -> Told:
    """Everything that is kept of a stream."""
    entries = list(entries)
    names = Names()
    for entry in entries:
        if entry.kind in _WATCHED:
            names.learn(entry)
    states: dict[str, list[tuple[float, State]]] = defaultdict(list)
    for entry in entries:
        if entry.kind in _WATCHED and entry.obj["metadata"]["uid"] in names.fresh:
            for aspect, state in _aspects(entry, names):
                _append(states[f"{names.by_uid[entry.obj['metadata']['uid']]} {aspect}"], entry.t, state)
    for name in [n for n in states if n.startswith("workload/") and n.endswith("conditions")]:
        states[name] = _without_stale(states[name])
    for name in [n for n in states if n.startswith("rayjob/")]:
        states[name] = _without_glimpses(states[name])
    kept = {name: seq for name, seq in states.items() if len(seq) > 1 or not _stands_still(name, names)}
    return Told(states=kept, events=_events(entries, names))


def _stands_still(aspect: str, names: Names) -> bool:
    """Whether a queue or node, seen with a single state, was there before the stream began."""
    return aspect.partition(" ")[0] in names.standing


def _append(sequence: list[tuple[float, State]], t: float, state: State) -> None:
    if state == GONE and sequence and sequence[-1][1] == GONE:
        return
    if not sequence or sequence[-1][1] != state:
        sequence.append((t, state))


def _without_stale(sequence: list[tuple[float, State]]) -> list[tuple[float, State]]:
    kept: list[tuple[float, State]] = []
    for n, (t, state) in enumerate(sequence):
        after = sequence[n + 1] if n + 1 < len(sequence) else None
        if kept and after and after[0] - t < STALE and _falls_back(kept[-1][1], state, after[1]):
            continue
        kept.append((t, state))
    return kept


def _without_glimpses(sequence: list[tuple[float, State]]) -> list[tuple[float, State]]:
    """What a job in Ray was for less than two of KubeRay's polls."""
    ends = [t for t, _ in sequence[1:]]
    lasting = [
        (t, state)
        for (t, state), end in zip(sequence, [*ends, float("inf")], strict=True)
        if not isinstance(state, tuple) or state[2] not in ("PENDING", "RUNNING") or end - t > _POLL
    ]
    kept: list[tuple[float, State]] = []
    for t, state in lasting:
        _append(kept, t, state)
    return kept


def _falls_back(before: State, state: State, after: State) -> bool:
    """Whether all that `after` changes of `state` puts back what was there `before`."""
    assert isinstance(before, tuple)
    assert isinstance(state, tuple)
    assert isinstance(after, tuple)
    undone = set(after) - set(state)
    return bool(undone) and undone <= set(before)


def _aspects(entry: Entry, names: Names) -> list[tuple[str, State]]:  # noqa: PLR0911 - one for each kind
    obj, status = entry.obj, entry.obj.get("status") or {}
    if entry.type == "DELETED":
        return [("end", GONE)]
    match entry.kind:
        case "workloads":
            return _workload(obj, status, names)
        case "jobsets":
            return [
                (
                    "state",
                    (
                        _suspend(obj),
                        status.get("terminalState"),
                        status.get("restarts"),
                        _conditions(status, names),
                    ),
                )
            ]
        case "jobs":
            counts = tuple(
                (k, status[k]) for k in ("active", "failed", "succeeded", "completedIndexes") if status.get(k)
            )
            return [("state", (_suspend(obj), counts, _conditions(status, names)))]
        case "pods":
            return _pod(obj, status)
        case "rayjobs":
            return [("state", _rayjob(obj, status, names))]
        case "rayclusters":
            return [("state", _raycluster(obj, status, names))]
        case "nodes":
            taints = tuple((t["key"], t["effect"]) for t in obj["spec"].get("taints") or ())
            return [("state", (_only(status, names, "Ready"), taints))]
        case _:
            return [("state", _only(status, names, "Active"))]


def _rayjob(obj: Json, status: Json, names: Names) -> State:
    told = [status.get(name) for name in _RAYJOB]
    has = tuple(name in status for name in _RAYJOB_HAS)
    seen = (status.get("rayClusterStatus") or {}).get("state")
    return (_suspend(obj), *told, names.text(status.get("message", "")), has, seen)


def _raycluster(obj: Json, status: Json, names: Names) -> State:
    head = tuple(sorted(status.get("head") or ()))
    return (_suspend(obj), status.get("state"), head, _conditions(status, names))


def _suspend(obj: Json) -> bool:
    return bool(obj["spec"].get("suspend"))


def _conditions(status: Json, names: Names) -> State:
    found = status.get("conditions") or ()
    return tuple(
        sorted((c["type"], c["status"], c.get("reason", ""), names.text(c.get("message", ""))) for c in found)
    )


def _only(status: Json, names: Names, type_: str) -> State:
    return tuple(c for c in _conditions(status, names) if c[0] == type_)  # type: ignore[attr-defined]


def _workload(obj: Json, status: Json, names: Names) -> list[tuple[str, State]]:
    spec = obj["spec"]
    checks = tuple((c["name"], c["state"], c["message"]) for c in status.get("admissionChecks") or ())
    class_ = (spec.get("priorityClassRef") or {}).get("name")
    evictions = (status.get("schedulingStats") or {}).get("evictions") or ()
    return [
        ("conditions", _conditions(status, names)),
        ("checks", checks),
        ("spec", (spec.get("active"), spec.get("priority"), class_, spec.get("queueName"))),
        ("admission", _admission(status.get("admission"))),
        ("evictions", tuple((e["reason"], e["underlyingCause"], e["count"]) for e in evictions)),
    ]


def _admission(admission: Json | None) -> State:
    if admission is None:
        return None
    return (
        admission["clusterQueue"],
        tuple(
            (
                p["name"],
                p["count"],
                tuple(sorted(p["flavors"].items())),
                tuple(sorted(p["resourceUsage"].items())),
                str(p.get("topologyAssignment", "")),
            )
            for p in admission["podSetAssignments"]
        ),
    )


def _pod(obj: Json, status: Json) -> list[tuple[str, State]]:
    containers = tuple(_container(c) for c in status.get("containerStatuses") or ())
    disrupted = tuple(
        (c["reason"], c["message"]) for c in status.get("conditions") or () if c["type"] == "DisruptionTarget"
    )
    return [
        ("life", (status.get("phase"), containers)),
        ("deletion", ("deletionTimestamp" in obj["metadata"], disrupted)),
    ]


def _container(container: Json) -> State:
    ((kind, state),) = container["state"].items()
    return (kind, state.get("reason"), state.get("exitCode"))


def _events(entries: Iterable[Entry], names: Names) -> frozenset[tuple[str, str, str, str]]:
    told = set()
    for entry in entries:
        if entry.kind != "events" or entry.obj["source"].get("component") in (
            None,
            "kubelet",
            "default-scheduler",
        ):
            continue
        about = entry.obj["involvedObject"]
        uid = about["uid"] or names.uids.get((about["kind"].lower(), about["name"]), "")
        if uid in names.fresh:
            told.add(
                (names.by_uid[uid], entry.obj["type"], entry.obj["reason"], names.text(entry.obj["message"]))
            )
    return frozenset(told)
