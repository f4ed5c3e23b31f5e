"""How a worker joins the shared head: the command line of `ray start`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

from k8s_bridge.ray import names
from k8s_bridge.ray.request import Request
from k8s_bridge.ray.workers.like import Like

AGENT_PORT = 52365
"""Where the raylet's own health is asked for."""
_OURS = frozenset(
    {
        "address",
        "block",
        "head",
        "labels",
        "memory",
        "num-cpus",
        "num-gpus",
        "resources",
        "dashboard-agent-listen-port",
    }
)
_MEBIBYTE = 2**20

SHIM_FOLDER = "/tmp/ray-bridge"  # noqa: S108  # inside the worker's container
SHIM_VARIABLE = "RAY_BRIDGE_SHIM"


def script(request: Request, *, like: Like, token: str) -> str:
    """The shell script of a worker's container. `exec`, so that Ray itself is told when the pod ends."""
    place = f'mkdir -p {SHIM_FOLDER} && printf %s "${SHIM_VARIABLE}" > {SHIM_FOLDER}/sitecustomize.py'
    options = {**_kept(like.params), **_given(request, like, token)}
    start = " ".join(["ray start", *(f"--{key}={shlex.quote(value)}" for key, value in options.items())])
    return f"{place}; ulimit -n 65536; exec {start} --block"


def _kept(params: Mapping[str, str]) -> dict[str, str]:
    return {key: str(value) for key, value in params.items() if key not in _OURS}


def _given(request: Request, like: Like, token: str) -> dict[str, str]:
    """Ray counts whole CPUs, and a worker without any would run nothing: fractions are rounded up."""
    return {
        "address": like.address,
        "num-cpus": str(-(-request.cpus // 1000)),
        "num-gpus": str(request.gpus),
        "memory": str(request.memory * _MEBIBYTE),
        "resources": json.dumps({names.pin(token): 1}),
        "labels": f"{names.NODE_LABEL}={token}",
        "dashboard-agent-listen-port": str(AGENT_PORT),
    }
