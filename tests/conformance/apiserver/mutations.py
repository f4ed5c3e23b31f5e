"""JobSets as the bridge writes them, each with one thing wrong (or not) in it."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from support.jobset_cases import LAYOUT, manifest, policy

from api.v1alpha1.slurmd import SharedStorage, Slurmd
from k8s_bridge.slurm.layout import Layout

Path = tuple[str | int, ...]
_ODD: tuple[Any, ...] = (None, "", "x", "A B", 0, -1, 7, 1.5, 2**40, True, [], ["x"], [[]], {}, {"x": "y"})
_UNKNOWN = {"nosuch": {"deep": 1}}


def rendered() -> Iterator[dict[str, Any]]:
    """JobSets of several shapes."""
    storage = SharedStorage(nfs_server="nfs", nfs_path="/home", mount_path="/home")
    slurmd = Slurmd(
        image="registry.example/slurmd:1",
        conf_server="slurmctld.slurm:6817",
        auth_secret_name="auth",
        privileged=False,
        shared_storage=storage,
    )
    yield manifest(policy=policy())
    yield manifest(policy=policy(slurmd=slurmd))
    yield manifest(layout=Layout(groups=(*LAYOUT.groups, *LAYOUT.groups), features=("fast",), time_limit=1))


def mutated(seed: int) -> dict[str, Any]:
    """One of them, changed at one place below its spec."""
    chance = random.Random(seed)
    document = copy.deepcopy(chance.choice(list(rendered())))
    place = chance.choice(list(_places(document["spec"], ("spec",))))
    _change(document, place, chance)
    return document


def _places(value: Any, path: Path) -> Iterator[Path]:
    if len(path) > 1:
        yield path
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, part in entries:
        yield from _places(part, (*path, key))


def _change(document: dict[str, Any], place: Path, chance: random.Random) -> None:
    holder: Any = document
    for step in place[:-1]:
        holder = holder[step]
    last = place[-1]
    match chance.choice(("delete", "odd", "odd", "unknown", "twice")):
        case "delete":
            del holder[last]
        case "unknown" if isinstance(holder[last], dict):
            holder[last] |= _UNKNOWN
        case "twice" if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
        case _:
            holder[last] = chance.choice(_ODD)
