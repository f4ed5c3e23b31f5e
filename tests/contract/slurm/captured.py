"""The captured answers of real slurmrestds, and which question of ours each of them answers."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from k8s_bridge.core.errors import BridgeError, Terminal
from k8s_bridge.slurm.client import JobUpdate, NodeState, SlurmClient
from k8s_bridge.slurm.client.gate import Urgency
from k8s_bridge.slurm.client.http import Call
from k8s_bridge.slurm.client.results import Listing, Unchanged
from k8s_bridge.slurm.model import Job, Node, Ping

ROOT = Path(__file__).parents[2] / "fixtures" / "slurm"
FOLDERS = {
    "22.05": "v0.0.38",
    "24.11/v0.0.40": "v0.0.40",
    "24.11/v0.0.42": "v0.0.42",
    "26.05/v0.0.44": "v0.0.44",
    "26.05/v0.0.45": "v0.0.45",
}
DOWN = {"x-jobs-slurmctld-down.json": 502, "x-update-slurmctld-down.json": 500}


@dataclass(frozen=True)
class Captured:
    """One answer. `version` is that of the folder, `path` the whole path as it was asked."""

    name: str
    version: str
    method: str
    path: str
    status: int

    @property
    def body(self) -> bytes:
        return (ROOT / self.name).read_bytes()

    @property
    def below(self) -> str:
        """The path below the version, whichever that was."""
        return re.sub(r"^/slurm/v[\d.]+/", "", urlsplit(self.path).path)


def all_captured() -> list[Captured]:
    found = []
    for folder, version in FOLDERS.items():
        index = json.loads((ROOT / folder / "index.json").read_text())
        listed = {entry["file"]: entry for entry in index}
        for file in sorted(path.name for path in (ROOT / folder).glob("*.json") if path.name != "index.json"):
            entry = listed.get(file) or _unlisted(file, version, (ROOT / folder / file).read_bytes())
            name = f"{folder}/{file}"
            found.append(Captured(name, version, entry["method"], entry["path"], entry["status"]))
    return found


def _unlisted(file: str, version: str, body: bytes) -> dict[str, Any]:
    """The extra captures carry no question: their names and contents tell it."""
    end = "" if version == "v0.0.38" else "/"
    method, path = "GET", f"jobs{end}"
    if file.startswith("x-job-"):
        path = f"job/{json.loads(body)['jobs'][0]['job_id']}"
    elif file.startswith("x-node-"):
        path = f"node/{json.loads(body)['nodes'][0]['name']}"
    elif file.startswith("x-ping"):
        path = "ping"
    elif file == "x-conf.json":
        path = "conf/"
    elif file.startswith("x-update"):
        method, path = "POST", "job/1"
    return {"method": method, "path": f"/slurm/{version}/{path}", "status": DOWN.get(file, 200)}


Ask = Callable[[SlurmClient], Awaitable[object]]


def question(captured: Captured) -> Ask:
    """The method of ours whose answer this would be; a bare call for questions that we never put."""
    path, method = captured.below, captured.method
    if captured.version in _NEVER_ASKED and re.match(_NEVER_ASKED[captured.version], f"{method} {path}"):
        return lambda client: _bare(client, captured)
    for (verb, pattern), ask in _QUESTIONS.items():
        match = re.fullmatch(pattern, path)
        if verb == method and match:
            return lambda client: ask(client, captured, match.groups())
    return lambda client: _bare(client, captured)


def _since(captured: Captured) -> int | None:
    found = parse_qs(urlsplit(captured.path).query).get("update_time")
    return int(found[0]) if found else None


async def _bare(client: SlurmClient, captured: Captured) -> object:
    call = Call(method=captured.method, path=captured.below, template="other", urgency=Urgency.READ)
    session = client._session
    reply = await session.ask(lambda _: call)
    session.checked(reply)
    return None


_NEVER_ASKED = {"v0.0.38": "(POST|DELETE) node/", "v0.0.40": "POST nodes/"}
"""What that version cannot do, so that the client goes another way."""

_ANY = JobUpdate(comment="any")
_QUESTIONS: dict[tuple[str, str], Callable[[SlurmClient, Captured, tuple[str, ...]], Awaitable[object]]] = {
    ("GET", r"ping/?"): lambda client, _, __: client.ping(),
    ("GET", r"jobs/?"): lambda client, captured, _: client.jobs(_since(captured)),
    ("GET", r"jobs/state/"): lambda client, _, __: client.job_states(),
    ("GET", r"job/(\d+)(?:_\d+)?"): lambda client, _, found: client.job(int(found[0])),
    ("GET", r"nodes/?"): lambda client, captured, _: client.nodes(_since(captured)),
    ("GET", r"node/(.+)"): lambda client, _, found: client.node(found[0]),
    ("GET", r"partitions/?"): lambda client, _, __: client.partitions(),
    ("POST", r"job/(\d+)"): lambda client, _, found: client.update_job(int(found[0]), _ANY),
    ("DELETE", r"job/(\d+)"): lambda client, _, found: client.cancel(int(found[0])),
    ("POST", r"node/(.+)"): lambda client, _, found: client.update_nodes(
        (found[0],), state=NodeState.DRAIN, reason="any"
    ),
    ("POST", r"nodes/"): lambda client, _, __: client.update_nodes(
        ("pa-1", "pa-2"), state=NodeState.DRAIN, reason="any"
    ),
    ("DELETE", r"node/(.+)"): lambda client, _, found: client.delete_node(found[0]),
}


async def outcome(ask: Ask, client: SlurmClient) -> str:
    """What came of it, in words that fit into a table."""
    try:
        return _told(await ask(client))
    except Terminal as error:
        return f"{type(error).__name__} {error.reason}"
    except BridgeError as error:
        return type(error).__name__


def _told(result: object) -> str:  # noqa: PLR0911 - one line a kind of answer
    match result:
        case None:
            return "done"
        case Unchanged():
            return "Unchanged"
        case Ping():
            return f"Ping {result.release} {result.api_version} {result.cluster or '-'}"
        case Job():
            return _job(result)
        case Node():
            return _node(result)
        case Listing():
            kinds = f"{len(result.items)} items, {result.malformed} malformed, at {result.last_update}"
            return f"Listing of {kinds}"
        case dict():
            words = {word for glance in result.values() for word in glance.states}
            return f"{len(result)} states, {_words(words)}"
    return f"partitions {result[0].name} {result[0].nodes or '-'} {_words(result[0].states)}"  # type: ignore[index]


def _job(job: Job) -> str:
    hold = "held" if job.held else "free"
    pins = f"features={job.features} requires={job.required_nodes} on={job.nodes}"
    array = f"array={job.array_job_id}/{job.array_task_id}/{job.array_task_string}"
    het = f"het={job.het_job_id}/{job.het_job_offset}"
    size = f"memory={job.memory_per_node} tasks={job.tasks} limit={job.time_limit} exit={job.exit_code}"
    return f"Job {job.job_id} {_words(job.states)} {hold} {job.reason} {pins} {array} {het} {size}"


def _node(node: Node) -> str:
    size = f"cpus={node.cpus} memory={node.real_memory} used={node.alloc_cpus}"
    usable = "usable" if node.usable else "busy" if node.busy else "unusable"
    return f"Node {node.name} {_words(node.states)} {usable} {','.join(node.features)} {size} ({node.reason})"


def _words(words: set[str] | frozenset[str]) -> str:
    return "+".join(sorted(words)) or "-"
