"""The slurmd container: what the bridge owns of it, laid over what the operator's template says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from api.v1alpha1.slurmd import Slurmd
from k8s_bridge.slurm.jobset.conf import slurmd_arguments
from k8s_bridge.slurm.jobset.resources import container_resources
from k8s_bridge.slurm.jobset.wrapper import COMMAND
from k8s_bridge.slurm.layout.types import Shape

NAME = "slurmd"
PORT = 6818
AUTH_VOLUME = "slurm-auth"
SHARED_VOLUME = "slurm-shared"
GRACE = "SLURMD_GRACE"
"""What wrapper.py reads."""
_LAST = 2
"""Seconds of the pod's grace that slurmd needs to end jobs and itself."""
_AUTH_PATH = "/etc/slurm"
_CAPABILITIES = (
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "KILL",
    "NET_ADMIN",
    "SETGID",
    "SETUID",
    "SYS_ADMIN",
    "SYS_NICE",
)
"""Enough for srun across pods: become the user, own and end its processes, make cgroups and namespaces."""
_POD_NAME = {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
_LISTENS = f"grep -q ':{PORT:04X} .* 0A ' /proc/net/tcp /proc/net/tcp6"
"""Looks at the socket table: a connection without a message would be an error line in slurmd's log."""


def slurmd_container(
    template: Mapping[str, Any], *, features: Iterable[str], shape: Shape, slurmd: Slurmd, grace: int = 0
) -> dict[str, Any]:
    """The container, with the fields of `template` that the bridge does not own; `features` of its node.

    `grace`: seconds that the pod has to end in, if jobs on it may use them.
    """
    env: list[dict[str, Any]] = [_POD_NAME]
    if grace:
        env.append({"name": GRACE, "value": str(max(1, grace - _LAST))})
    ready = {"exec": {"command": ["/bin/bash", "-c", _LISTENS]}, "periodSeconds": 5}
    return {
        "readinessProbe": ready,
        **template,
        "name": NAME,
        "image": slurmd.image,
        "command": COMMAND,
        "args": slurmd_arguments(shape, features=features, conf_server=slurmd.conf_server),
        "env": by_name(template.get("env", ()), env),
        "ports": by_name(template.get("ports", ()), [{"name": NAME, "containerPort": PORT}]),
        "resources": _resources(template.get("resources", {}), shape, slurmd),
        "securityContext": {**template.get("securityContext", {}), **_security(slurmd)},
        "volumeMounts": by_name(template.get("volumeMounts", ()), _mounts(slurmd)),
    }


def by_name(theirs: Iterable[Mapping[str, Any]], ours: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Both lists as one, ours first (others may refer to them); of one name, ours stays."""
    names = {item["name"] for item in ours}
    return [*ours, *(dict(item) for item in theirs if item.get("name") not in names)]


def _resources(template: Mapping[str, Any], shape: Shape, slurmd: Slurmd) -> dict[str, Any]:
    ours = container_resources(shape, slurmd=slurmd)
    claims = by_name(template.get("claims", ()), [{"name": claim.name} for claim in slurmd.resource_claims])
    merged = {
        **template,
        "requests": {**template.get("requests", {}), **ours},
        "limits": {**template.get("limits", {}), **ours},
    }
    return {**merged, "claims": claims} if claims else merged


def _security(slurmd: Slurmd) -> dict[str, Any]:
    if slurmd.privileged:
        return {"privileged": True}
    return {
        "privileged": False,
        "capabilities": {"drop": ["ALL"], "add": list(_CAPABILITIES)},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _mounts(slurmd: Slurmd) -> list[dict[str, Any]]:
    mounts: list[dict[str, Any]] = [{"name": AUTH_VOLUME, "mountPath": _AUTH_PATH, "readOnly": True}]
    if slurmd.shared_storage is not None:
        mounts.append({"name": SHARED_VOLUME, "mountPath": slurmd.shared_storage.mount_path})
    return mounts
