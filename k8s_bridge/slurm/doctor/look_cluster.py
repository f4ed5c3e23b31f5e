"""Looks at the cluster as a whole, with reads and reviews only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import msgspec
import yaml

from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime.doctor.deployments import COMPONENT_LABEL, NAME_LABEL
from k8s_bridge.runtime.doctor.looking import seen
from k8s_bridge.runtime.doctor.verdict import Hidden, Seen
from k8s_bridge.runtime.doctor.views import Deployment, KueueConfig
from k8s_bridge.runtime.gates import Gates, Transport
from k8s_bridge.slurm.credentials import ConfigMap
from k8s_bridge.slurm.doctor.checks.cluster import BRIDGE, KUEUE

_SLURM = "slurm-bridge"
_CONFIG_KEY = "controller_manager_config.yaml"


async def kueue_config(client: KubeClient, found: Iterable[Deployment]) -> Seen[KueueConfig]:
    """Kueue's own configuration, from a ConfigMap beside its Deployment."""
    places = {one.metadata.namespace for one in found if one.metadata.labels.get(NAME_LABEL) == KUEUE}
    for place in places:
        maps = await seen(client.list(ConfigMap, namespace=place))
        if isinstance(maps, Hidden):
            return maps
        for one in maps.items if maps else ():
            if _CONFIG_KEY in one.data:
                return _config(one.data[_CONFIG_KEY])
    return None


def _config(text: str) -> Seen[KueueConfig]:
    try:
        return msgspec.convert(yaml.safe_load(text) or {}, KueueConfig)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        return Hidden(f"Kueue's configuration cannot be read: {error}")


def bridge_of(found: Iterable[Deployment]) -> Deployment | None:
    """The Slurm bridge's Deployment; the chart makes others, which are other components."""
    ours = (one for one in found if one.metadata.labels.get(NAME_LABEL) == BRIDGE)
    return next((one for one in ours if one.metadata.labels.get(COMPONENT_LABEL, _SLURM) == _SLURM), None)


def values(deployment: Deployment, option: str) -> tuple[str, ...]:
    """The values that the bridge's arguments give to an option."""
    args = (arg for one in deployment.spec.template.spec.containers for arg in one.args)
    return tuple(arg.partition("=")[2] for arg in args if arg.partition("=")[0] == option)


def gates_of(deployment: Deployment) -> Gates | None:
    """The gates that the bridge runs with; None when they are not to be read off its arguments."""
    insecure = bool(values(deployment, "--allow-insecure-tls"))
    with contextlib.suppress(ValueError):
        return Gates(
            images=values(deployment, "--allow-image"),
            token_paths=values(deployment, "--allow-token-path"),
            slurm_hosts=values(deployment, "--allow-slurm-host"),
            transport=Transport.INSECURE if insecure else Transport.VERIFIED,
        )
    return None
