"""Generic resources as text: what nodes have ("gpu:a100:4") and what jobs ask for ("gres/gpu:a100:2")."""

from __future__ import annotations

import re
from dataclasses import dataclass

from k8s_bridge.sandbox.slurm_fake.errors import Errno, SlurmError

_ASKED = re.compile(r"gres[:/](?P<name>[^:=,]+)(?::(?P<type>[A-Za-z][^:=,]*))?(?:[:=](?P<count>\d+))?")


@dataclass(frozen=True, slots=True)
class Gres:
    """`count` of one resource; `type` "" is any type."""

    name: str
    type: str
    count: int

    def serves(self, wanted: Gres) -> bool:
        """Whether this resource of a node is of the wanted sort."""
        return self.name == wanted.name and wanted.type in ("", self.type)

    def __str__(self) -> str:
        return ":".join(part for part in (self.name, self.type, str(self.count)) if part)


def owned(text: str) -> tuple[Gres, ...]:
    """What a node has; "" is nothing."""
    return tuple(_owned(item) for item in text.split(",") if item)


def asked(text: str) -> tuple[Gres, ...]:
    """What a job asks for, such as `gres/gpu:2`; raises SlurmError for what slurmctld refuses."""
    return tuple(_asked(item) for item in text.split(",") if item)


def _owned(item: str) -> Gres:
    name, *rest = item.partition("(")[0].split(":")
    count = int(rest.pop()) if rest and rest[-1].isdecimal() else 1
    return Gres(name, rest[0] if rest else "", count)


def _asked(item: str) -> Gres:
    match = _ASKED.fullmatch(item)
    if match is None:
        raise SlurmError(Errno.TRES)
    return Gres(match["name"], match["type"] or "", int(match["count"] or 1))
