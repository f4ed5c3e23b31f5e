"""The TRES strings of a job record, such as `gres/gpu:a100:2,gres/fpga` (22.05 writes `gres:gpu:2`)."""

from __future__ import annotations

import re
from functools import lru_cache

Gres = tuple[str, str, int]
"""(name, type or "", count)."""

_ITEM = re.compile(
    r"gres[/:](?P<name>[\w.-]+)(?::(?P<type>[\w.-]*[A-Za-z_][\w.-]*))?(?:[:=](?P<count>\d+\w?))?",
    re.ASCII,
)
_COUNT = re.compile(r"(\d+)([kKmMgGtT]?)", re.ASCII)
_SCALE = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_REQUESTED = {name: re.compile(rf"(?:^|,){name}=(\d+)(?:,|$)") for name in ("cpu", "node")}


@lru_cache(maxsize=4096)
def parse_gres(text: str) -> tuple[Gres, ...] | None:
    """The GRES in `text`, sorted, zero counts left out; a missing count is one. None if it cannot be read.

    One that is named twice with two counts (--gres=gpu:2 --gpus-per-node=4) cannot: Slurm is at odds there.
    A `cpu` item (of --tres-per-task) is skipped: the record repeats it as cpus_per_task.
    """
    found: dict[tuple[str, str], int] = {}
    for item in filter(None, text.split(",")):
        if item.startswith(("cpu=", "cpu:")):
            continue
        one = _one(item)
        if one is None:
            return None
        name, kind, count = one
        if found.setdefault((name, kind), count) != count:
            return None
    return tuple(sorted((name, kind, count) for (name, kind), count in found.items() if count))


def parse_amount(text: str) -> int | None:
    """The number of a per-GPU request such as `gres/gpu:4` (CPUs or MiB). None if there is anything else."""
    items = parse_gres(text)
    if not items or len(items) > 1 or items[0][:2] != ("gpu", ""):
        return None
    return items[0][2]


def requested_nodes(text: str) -> int | None:
    """`node=` of tres_req_str: the minimum of -N, which node_count is not. None if it is not there."""
    return _requested("node", text)


def requested_cpus(text: str) -> int | None:
    """`cpu=` of tres_req_str: all CPUs asked for. None if it is not there."""
    return _requested("cpu", text)


@lru_cache(maxsize=4096)
def _requested(name: str, text: str) -> int | None:
    match = _REQUESTED[name].search(text)
    return int(match.group(1)) if match else None


def _one(item: str) -> Gres | None:
    match = _ITEM.fullmatch(item)
    if match is None:
        return None
    name, kind, text = match.group("name", "type", "count")
    if kind and text is None and (bare := _COUNT.fullmatch(kind)):
        return name, "", _scaled(bare)
    if text is None:
        return name, kind or "", 1
    count = _COUNT.fullmatch(text)
    return (name, kind or "", _scaled(count)) if count else None


def _scaled(match: re.Match[str]) -> int:
    return int(match.group(1)) * _SCALE[match.group(2).lower()]
