"""The status of a WorkloadMixing: conditions and counts, from what was observed. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from api.v1alpha1.status import ConditionType
from k8s_bridge.core.conditions import Finding
from k8s_bridge.slurm.census import Group
from k8s_bridge.slurm.policy import Trouble
from k8s_bridge.slurm.unit import State

_HELD = frozenset({State.HELD, State.TURN, State.DENIED, State.INELIGIBLE})
_WAITING = frozenset({State.QUEUED, State.PARKED, State.RESIZED, State.FAILED})
_ADMITTED = frozenset({State.ADMITTED, State.READY, State.RELEASED, State.WITHHELD})
_RUNNING = frozenset({State.RUNNING, State.COMPLETING})
_FAILED = frozenset({State.RETAINED, State.REFUSED})


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmHealth:
    """How Slurm answers. `error` is the last trouble, "" after a good poll; times are Unix seconds."""

    error: str = ""
    reason: str = ""
    last_good: float = 0.0
    token_trouble: Trouble = ("", "")
    token_expires: float | None = None


def findings(  # noqa: PLR0913  # what is looked at, by keyword
    health: SlurmHealth,
    *,
    queues: Iterable[Trouble],
    classes: Iterable[Trouble],
    topologies: Iterable[Trouble],
    template: str,
    conflict: Trouble,
    guarded: bool,
    leaving: bool = False,
    notes: tuple[str, ...] = (),
) -> tuple[Finding, ...]:
    """All conditions that we own; Ready is True when all is well."""
    parts = (
        _finding(ConditionType.SLURM_REACHABLE, (health.reason, health.error), good="Answering"),
        _finding(ConditionType.TOKEN_VALID, health.token_trouble, good="Accepted"),
        _finding(ConditionType.QUEUES_VALID, _all(queues), good="Found"),
        _finding(ConditionType.PRIORITY_CLASSES_VALID, _all(classes), good="Found"),
        _finding(ConditionType.TOPOLOGY_VALID, _all(topologies), good="Found"),
        _finding(
            ConditionType.TEMPLATE_VALID,
            ("InvalidTemplate", template) if template else ("", ""),
            good="Valid",
        ),
    )
    wrong = next((part for part in parts if part.status != "True"), None)
    trouble = (wrong.reason, wrong.message) if wrong else ("", "")
    if guarded:
        trouble = ("MassDeletionRefused", "Slurm suddenly knows none of many of our jobs; nothing is deleted")
    if leaving:
        trouble = ("Deleting", "nothing new is taken; it goes when its last JobSet and Slurm node are gone")
    clash = Finding(
        type=ConditionType.CONFLICTING,
        status="True" if conflict[0] else "False",
        reason=conflict[0] or "NoConflict",
        message=conflict[1],
    )
    trouble = trouble if trouble[0] else conflict
    return (_finding(ConditionType.READY, trouble, good="Ready", note="; ".join(notes)), *parts, clash)


def is_good(finding: Finding) -> bool:
    """Whether a condition says that all is well: Conflicting is the one that is well when False."""
    return (finding.status == "True") is not (finding.type == ConditionType.CONFLICTING)


def counts(groups: Mapping[Group, int], *, nodes: Mapping[str, int]) -> dict[str, Any]:
    """`counts` and `partitions` of the status, from how many units each group has."""
    total: Counter[str] = Counter()
    by_partition: dict[str, Counter[str]] = {name: Counter() for name in nodes}
    for group, count in groups.items():
        if group.slot:
            continue
        words = dict.fromkeys((*_words(group.state), *(["requeued"] if group.requeued else [])), count)
        total.update(words)
        if group.partition in by_partition:
            by_partition[group.partition].update(words)
    total["nodes"] = sum(nodes.values())
    for name, count in nodes.items():
        by_partition[name]["nodes"] = count
    partitions = [{"partitionName": name, **dict(found)} for name, found in by_partition.items()]
    return {"counts": dict(total), "partitions": partitions}


def _words(state: State) -> tuple[str, ...]:
    table: tuple[tuple[frozenset[State], tuple[str, ...]], ...] = (
        (_HELD, ("held", "pending")),
        (_WAITING, ("waiting", "pending")),
        (_ADMITTED, ("admitted",)),
        (_RUNNING, ("running",)),
        (_FAILED, ("failed",)),
    )
    return next((words for states, words in table if state in states), ())


def _finding(kind: ConditionType, trouble: Trouble, *, good: str, note: str = "") -> Finding:
    reason, message = trouble
    if reason or message:
        return Finding(type=kind, status="False", reason=reason or "Failed", message=message)
    return Finding(type=kind, status="True", reason=good, message=note)


def _all(troubles: Iterable[Trouble]) -> Trouble:
    found = sorted({trouble for trouble in troubles if trouble[0]})
    if not found:
        return "", ""
    return found[0][0], "; ".join(text for _, text in found)
