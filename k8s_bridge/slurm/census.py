"""Which units are in which state, kept as they change: nobody counts 20,000 of them every second."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from k8s_bridge.slurm.unit import Key, State, Unit


class Group(NamedTuple):
    """What units are counted by."""

    state: State
    partition: str
    requeued: bool
    slot: bool = False
    """Of a job array, which is counted itself."""
    queue: str = ""

    @classmethod
    def of(cls, unit: Unit, state: State) -> Group:
        """The group of a unit in that state."""
        job, managed = unit.job, unit.partition
        return cls(
            state=state,
            partition=managed.name if managed else job.partition if job else "",
            requeued=bool(job and job.restart_count),
            slot=unit.slot is not None,
            queue=managed.queue if managed else "",
        )


class Census:
    """Keys by group."""

    def __init__(self) -> None:
        self._members: dict[Group, set[Key]] = {}
        self._homes: dict[Key, Group] = {}

    def put(self, key: Key, group: Group) -> None:
        """The unit is in this group now, and in no other."""
        if self._homes.get(key) != group:
            self.remove(key)
            self._homes[key] = group
            self._members.setdefault(group, set()).add(key)

    def remove(self, key: Key) -> None:
        """The unit is no more."""
        group = self._homes.pop(key, None)
        if group is not None:
            self._members[group].remove(key)
            if not self._members[group]:
                del self._members[group]

    def groups(self) -> Mapping[Group, int]:
        """How many units each group has; none that is empty."""
        return {group: len(members) for group, members in self._members.items()}

    def states(self) -> Counter[State]:
        """How many units are in each state."""
        found: Counter[State] = Counter()
        for group, count in self.groups().items():
            found[group.state] += count
        return found

    def within(self, states: Iterable[State]) -> Iterator[Key]:
        """The units that are in one of these states."""
        wanted = frozenset(states)
        return (key for group, members in self._members.items() if group.state in wanted for key in members)
