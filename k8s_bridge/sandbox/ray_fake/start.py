"""What a pod's command makes of its container: a Ray node, by the options of `ray start`. Pure."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from k8s_bridge.sandbox.controllers.kubelet_runtime import Pod, PodEnv, main_container
from k8s_bridge.sandbox.controllers.quantity import parse

_START = re.compile(r"(?:^|[\s;&/])ray\s+start\s(?P<rest>.*)", re.DOTALL)
_REFERENCE = re.compile(r"\$\(([A-Za-z_]\w*)\)|\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)")
_STORE = 200_000_000.0  # bytes; Ray takes a part of what /dev/shm has
_MILLI, _GPU = 1000, "nvidia.com/gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """`ray start`: `address` is empty on a head; `resources` are what the node offers, by Ray's names."""

    head: bool
    address: str = ""
    resources: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


def command_text(pod: Pod) -> str:
    """Command and arguments of the main container as one shell text."""
    container = main_container(pod)
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    shell = len(words) > 1 and words[0].rpartition("/")[2] in ("sh", "bash")
    return str(words[-1]) if shell else shlex.join(words)


def is_ray_node(pod: Pod) -> bool:
    """Whether the main container runs `ray start`."""
    container = main_container(pod)
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    return _START.search(" ".join(words) + " ") is not None


def start_options(pod: Pod, env: PodEnv) -> StartOptions:
    """What the container's `ray start` says. ValueError when an option cannot be read."""
    text = _REFERENCE.sub(lambda m: env.variables.get(m[1] or m[2] or m[3], m[0]), command_text(pod))
    found = _START.search(text + " ")
    if found is None:
        raise ValueError("no ray start")
    options = _options(shlex.split(re.split(r";|&&|\|\|", found["rest"])[0]))
    if "head" not in options and "address" not in options:
        raise ValueError("ray start: neither --head nor --address")
    return StartOptions(
        head="head" in options,
        address=options.get("address", ""),
        resources=_resources(options, main_container(pod)),
        labels=_group(env) | _labels(options.get("labels", "")),
    )


def _options(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            found[name] = value
        elif name and not found[name]:
            found[name] = word
    return found


def _resources(options: Mapping[str, str], container: Mapping[str, Any]) -> dict[str, float]:
    have = container.get("resources") or {}
    amounts = {**(have.get("requests") or {}), **(have.get("limits") or {})}
    offered = {
        "CPU": float(options["num-cpus"]) if "num-cpus" in options else _cpus(amounts),
        "GPU": float(options.get("num-gpus") or _amount(amounts, _GPU)),
        "memory": float(options.get("memory") or _amount(amounts, "memory")),
        "object_store_memory": float(options.get("object-store-memory") or _STORE),
    }
    custom = json.loads(options.get("resources") or "{}")
    return {name: float(amount) for name, amount in (offered | custom).items() if amount}


def _cpus(amounts: Mapping[str, Any]) -> float:
    # Ray counts whole CPUs of the container's limit, and one at least.
    return max(1.0, _amount(amounts, "cpu") / _MILLI // 1)


def _amount(amounts: Mapping[str, Any], name: str) -> float:
    return float(parse(name, str(amounts[name]))) if name in amounts else 0.0


def _group(env: PodEnv) -> dict[str, str]:
    group = env.variables.get("RAY_NODE_TYPE_NAME")
    return {"ray.io/node-group": group} if group else {}


def _labels(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in text.split(",") if pair)
    return {name.strip(): value.strip() for name, _, value in pairs}
