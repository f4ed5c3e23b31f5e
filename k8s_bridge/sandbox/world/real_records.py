"""Records of slurmrestd, of any release, as facts of a world."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from k8s_bridge.sandbox.world.slurm import JobFact, NodeFact


def job_fact(raw: Mapping[str, Any]) -> JobFact:
    """A job of an answer of slurmrestd, of any release. KeyError without id or state."""
    states = _words(raw["job_state"])
    return JobFact(
        job_id=raw["job_id"],
        unit=_number(raw.get("array_job_id")) or _number(raw.get("het_job_id")) or 0,
        task=_task(raw.get("array_task_id")),
        name=raw.get("name") or "",
        partition=raw.get("partition") or "",
        state=states[0],
        completing="COMPLETING" in states,
        reason=raw.get("state_reason") or "",
        held=_number(raw.get("priority")) == 0,
        nodes=tuple(filter(None, (raw.get("nodes") or "").split(","))),
        restarts=raw.get("restart_cnt") or 0,
        text=raw.get("admin_comment") or raw.get("comment") or "",
    )


def node_fact(raw: Mapping[str, Any]) -> NodeFact:
    """A node of an answer of slurmrestd, of any release. KeyError without a name."""
    return NodeFact(
        name=raw["name"],
        states=frozenset((*_words(raw.get("state")), *_words(raw.get("state_flags")))),
        features=frozenset(_listed(raw.get("features"))),
    )


def _words(raw: str | Iterable[str] | None) -> list[str]:
    words = raw.split("+") if isinstance(raw, str) else raw or ()
    return [word.upper() for word in words]


def _listed(raw: str | Iterable[str] | None) -> Iterable[str]:
    return filter(None, raw.split(",")) if isinstance(raw, str) else raw or ()


def _task(raw: Any) -> int | None:
    return None if isinstance(raw, Mapping) and not raw.get("set") else _number(raw)


def _number(raw: Any) -> int | None:
    return raw.get("number") if isinstance(raw, Mapping) else raw
