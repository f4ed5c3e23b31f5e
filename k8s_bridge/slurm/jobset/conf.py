"""How slurmd is told what node it is: the `--conf` line, and the arguments around it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from k8s_bridge.slurm.layout.types import Shape


def slurm_conf(shape: Shape, *, features: Iterable[str]) -> str:
    """The node line for `--conf`. What was not asked for is left out: empty values break it."""
    parts = [f"Features={','.join(features)}", f"CPUs={shape.cpus}"]
    if shape.memory:
        parts.append(f"RealMemory={shape.memory}")
    if shape.gres:
        parts.append(f"Gres={','.join(_gres(*item) for item in shape.gres)}")
    return " ".join(parts)


def slurmd_arguments(shape: Shape, *, features: Iterable[str], conf_server: str) -> list[str]:
    """Arguments of slurmd, quoted for one more shell (see wrapper.py); the kubelet fills in POD_NAME.

    `-b` dates the node's boot to the start of the pod: the machine's own boot is not this node's.
    """
    conf = slurm_conf(shape, features=features)
    return [
        "-Z",
        "-b",
        "-N",
        "$(POD_NAME)",
        "--conf",
        shlex.quote(conf),
        "--conf-server",
        shlex.quote(conf_server),
    ]


def _gres(name: str, kind: str, count: int) -> str:
    return f"{name}:{kind}:{count}" if kind else f"{name}:{count}"
