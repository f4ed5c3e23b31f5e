"""Which units are in which state, kept as they change: nobody counts 20,000 of them every second."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from k8s_bridge.slurm.unit import State, Unit


class Group(NamedTuple):
    """What units are counted by."""

    state: State
    partition: str
    requeued: bool

    @classmethod
    def of(cls, unit: Unit, state: State) -> Group:
        """The group of a unit in that state."""
        job = unit.job
        return cls(state, job.partition if job else "", bool(job and job.restart_count))


class Census:
    """Job ids by group."""

    def __init__(self) -> None:
        self._members: dict[Group, set[int]] = {}
        self._homes: dict[int, Group] = {}

    def put(self, job_id: int, group: Group) -> None:
        """The unit is in this group now, and in no other."""
        if self._homes.get(job_id) != group:
            self.remove(job_id)
            self._homes[job_id] = group
            self._members.setdefault(group, set()).add(job_id)

    def remove(self, job_id: int) -> None:
        """The unit is no more."""
        group = self._homes.pop(job_id, None)
        if group is not None:
            self._members[group].remove(job_id)

    def groups(self) -> Mapping[Group, int]:
        """How many units each group has; none that is empty."""
        return {group: len(members) for group, members in self._members.items() if members}

    def states(self) -> Counter[State]:
        """How many units are in each state."""
        found: Counter[State] = Counter()
        for group, count in self.groups().items():
            found[group.state] += count
        return found

    def within(self, states: Iterable[State]) -> Iterator[int]:
        """The units that are in one of these states."""
        wanted = frozenset(states)
        return (
            job_id for group, members in self._members.items() if group.state in wanted for job_id in members
        )
