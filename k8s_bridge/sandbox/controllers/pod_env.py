"""The environment of a pod's main container, as its kubelet would set it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from k8s_bridge.sandbox.controllers.kubelet_runtime import Pod, main_container

_KEYED = re.compile(r"^metadata\.(labels|annotations)\['(.+)'\]$")
_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


def variables(pod: Pod, *, node: str, ip: str) -> dict[str, str]:
    """Names to values; $(NAME) is expanded, references to Secrets and ConfigMaps are left out."""
    found: dict[str, str] = {}
    for entry in main_container(pod).get("env") or ():
        if "value" in entry:
            found[entry["name"]] = expand(entry["value"], found)
        elif path := (entry.get("valueFrom") or {}).get("fieldRef", {}).get("fieldPath"):
            found[entry["name"]] = _field(pod, path, node=node, ip=ip)
    return found


def expand(text: str, known: Mapping[str, str]) -> str:
    """`text` with $(NAME) replaced where NAME is known; the rest stays as it is."""
    return _REFERENCE.sub(lambda match: known.get(match.group(1), match.group(0)), text)


def _field(pod: Pod, path: str, *, node: str, ip: str) -> str:
    fixed = {"spec.nodeName": node, "status.podIP": ip, "status.hostIP": ip}
    if path in fixed:
        return fixed[path]
    if keyed := _KEYED.match(path):
        return str((pod["metadata"].get(keyed.group(1)) or {}).get(keyed.group(2), ""))
    value: Any = pod
    for part in path.split("."):
        value = value.get(part, "") if isinstance(value, Mapping) else ""
    return str(value)
