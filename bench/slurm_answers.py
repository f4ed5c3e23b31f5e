"""What an answer of slurmrestd shows, in all API versions' spellings, and what a request asks for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

_LEADING = re.compile(r"\d+")
_NOT_IDLE = frozenset(
    {"DOWN", "DRAIN", "DRAINING", "FAIL", "NOT_RESPONDING", "INVALID_REG", "COMPLETING", "ALLOCATED", "MIXED"}
)


def document(body: bytes) -> Mapping[str, Any]:
    """The JSON object of a body; empty when there is none."""
    try:
        found = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def job_ids(answer: Mapping[str, Any]) -> Iterator[int]:
    """The jobs that are listed; a task of an array (`7_1`) stands for the array."""
    found = (_LEADING.match(str(job["job_id"])) for job in answer.get("jobs") or ())
    return (int(match[0]) for match in found if match)


def idle_nodes(answer: Mapping[str, Any]) -> set[str]:
    """Names of the listed nodes that a job may start on."""
    return {node["name"] for node in answer.get("nodes") or () if is_idle(_states(node))}


def is_idle(states: Iterable[str]) -> bool:
    """Whether these state words are those of a node that a job may start on."""
    words = set(states)
    return "IDLE" in words and not words & _NOT_IDLE


def is_text(update: Mapping[str, Any]) -> bool:
    """Whether an update of a job changes what people read and nothing else."""
    return bool(update) and update.keys() <= {"comment", "admin_comment"}


def releases(update: Mapping[str, Any]) -> bool:
    """Whether an update of a job ends its hold."""
    priority = update.get("priority")
    if isinstance(priority, Mapping):
        priority = priority.get("number")
    return update.get("hold") is False or (bool(priority) and "hold" not in update)


def _states(node: Mapping[str, Any]) -> list[str]:
    words = [node.get("state") or (), node.get("state_flags") or ()]
    return [word.upper() for part in words for word in (part.split("+") if isinstance(part, str) else part)]
