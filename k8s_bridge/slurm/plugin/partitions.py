"""What the plugin must know of WorkloadMixings: the managed partitions of one Slurm cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from api.v1alpha1.workloadmixing import WorkloadMixing

_SLURM_NAME = re.compile(r"[A-Za-z0-9_.+@:/-]+")


class Unusable(ValueError):
    """No plugin can be made of these WorkloadMixings; the text says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A managed partition. `met` names options that are met here although no layout can.

    `priority_cap`: the highest wm:prio=N; 0 is no cap, None when comments ask in vain.
    """

    name: str
    met: frozenset[str] = frozenset()
    priority_cap: int | None = None


def partitions_of(mixings: Iterable[WorkloadMixing]) -> tuple[Partition, ...]:
    """All managed partitions, in order. Unusable for a name that Slurm cannot have, or that comes twice."""
    found: dict[str, Partition] = {}
    for mixing in mixings:
        for mapping in mixing.spec.partition_mappings:
            name, topology = mapping.partition_name, mapping.topology or mixing.spec.topology
            if not _SLURM_NAME.fullmatch(name):
                raise Unusable(f"{name!r} is no name that a Slurm partition can have; correct partitionName.")
            if name in found:
                raise Unusable(f"partition {name} is managed twice; one WorkloadMixing must let go of it.")
            met = frozenset({"--switches"} if topology.required_level else ())
            cap = mixing.spec.max_user_priority if mixing.spec.enable_priority_sync else None
            found[name] = Partition(name=name, met=met, priority_cap=cap)
    return tuple(found.values())
