"""The sandbox's world on real components: the same face, so that the same scenarios run in it."""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import NODES, SECRETS
from k8s_bridge.sandbox.slurm_real import RealSlurm
from k8s_bridge.sandbox.slurm_real.files import write_secret
from k8s_bridge.sandbox.slurm_real.process import end_marked
from k8s_bridge.sandbox.world import World, WorldConfig, objects
from k8s_bridge.sandbox.world.config import (
    AUTH_SECRET,
    CLASSES,
    FLAVOR,
    NAMESPACE,
    PARTITIONS,
    TEAM_A,
    TEAM_B,
)
from k8s_bridge.sandbox.world.objects import COHORT, SHARED_QUEUE
from k8s_bridge.sandbox.world.pulse import Pulse
from k8s_bridge.sandbox.world.real_side import RealSide
from testbed import chart, images, install, node, ray_cluster
from testbed.certificates import write_kubeconfig
from testbed.control import kubectl
from testbed.mirror import Mirror
from testbed.places import CONTROL, RUN, WORKERS, node_name
from testbed.shell import until

_SLURM_PORT = 6817
_SLURM_CONF = f"""
SlurmctldPort={_SLURM_PORT}
SlurmdPort=6818
AuthType=auth/slurm
CredType=auth/slurm
AuthInfo=use_client_ids,cred_expire=5
SlurmctldParameters=enable_configless
SlurmdTimeout=10
SlurmdSpoolDir=/var/spool/slurmd
SlurmdPidFile=/run/slurmd.pid
"""
_OURS = {
    "clusterqueues": (SHARED_QUEUE, TEAM_A, TEAM_B),
    "resourceflavors": (FLAVOR,),
    "workloadpriorityclasses": tuple(CLASSES),
    "cohorts": (COHORT,),
}
"""What worlds make outside of their namespace, by kind."""


class RealWorld(World):
    """A world in the running testbed; one at a time. It finds the namespace as it likes, and leaves it."""

    patience = 4.0

    @classmethod
    @contextlib.asynccontextmanager
    async def start(cls, config: WorldConfig) -> AsyncIterator[World]:
        """Empty the teams' namespace, start Slurm, create the teams' objects."""
        config.directory.mkdir(parents=True, exist_ok=True)
        await _end_earlier(config.directory)
        _clear()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(end_marked, config.directory)
            pulse = Pulse()
            key = secrets.token_bytes(1024)
            slurm = await _slurm(config, pulse, key)
            stack.push_async_callback(slurm.stop)
            mirror = await stack.enter_async_context(Mirror.open(NAMESPACE))
            machines = Machines()
            stack.push_async_callback(machines.restore)
            world = cls(
                replace(config, spec={"slurmd": _slurmd(), **config.spec}),
                server=SimpleNamespace(storage=mirror),  # type: ignore[arg-type]
                slurm=slurm,
                controllers=SimpleNamespace(engine=SimpleNamespace(failures=0), nodes=machines),  # type: ignore[arg-type]
                pulse=pulse,
            )
            stack.push_async_callback(world._stop_bridges)
            world._create(key)
            yield world

    def _create(self, key: bytes) -> None:
        for kind, obj in objects.beginning(self.config):
            if kind is not NODES and obj["metadata"]["name"] != NAMESPACE:
                self.storage.create(kind, _with_key(obj, key) if kind is SECRETS else obj)
        self.storage.create(
            *objects.mixing(self.config, rest_url=self.slurm.rest_url, token_file=str(self.slurm.token_file))
        )
        rights = chart.rights(chart.VALUES, namespace=NAMESPACE)
        kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(rights))
        token = kubectl("-n", NAMESPACE, "create", "token", "k8s-bridge", "--duration=24h")
        write_kubeconfig(self.kubeconfig, token=token.strip(), namespace=NAMESPACE)


class Machines:
    """The testbed's nodes, as worlds ask for them; those that lost power have it back at the world's end."""

    def __init__(self) -> None:
        self._dark: list[int] = []

    async def power_off(self, machine: str) -> None:
        """Kill a node's pid 1, and so everything on it."""
        (number,) = [number for number in WORKERS if node_name(number) == machine]
        os.kill(node.first_process(number), signal.SIGKILL)
        self._dark.append(number)

    async def restore(self) -> None:
        """Start what was powered off, as a machine without any memory."""
        for number in self._dark:
            kubectl("delete", "node", node_name(number), "--ignore-not-found")
            node.remove_cgroups(node_name(number))
            shutil.rmtree(node.folder(number))
            node.start(number)
        if self._dark:
            until("all nodes are ready", install.wait_for_nodes, seconds=180)


async def _slurm(config: WorldConfig, pulse: Pulse, key: bytes) -> RealSide:
    directory = config.directory / "slurm"
    (directory / "etc").mkdir(parents=True)
    write_secret(directory / "etc/slurm.key", data=key)
    slurm = await RealSlurm.start(
        config.release, directory, partitions=PARTITIONS, extra_conf=_SLURM_CONF, address=CONTROL
    )
    return RealSide(slurm, pulse=pulse)


def _slurmd() -> dict[str, Any]:
    return {
        "image": images.SLURMD,
        "confServer": f"{CONTROL}:{_SLURM_PORT}",
        "authSecretName": AUTH_SECRET,
        "privileged": False,
    }


def _with_key(secret: Json, key: bytes) -> Json:
    return secret | {"data": {"slurm.key": base64.b64encode(key).decode()}}


async def _end_earlier(directory: Path) -> None:
    """End what a world that was killed left running: its Slurm has the ports that the next one needs."""
    note = RUN / "world"
    earlier = Path(note.read_text()) if note.exists() else directory
    for place in (earlier, earlier / "slurm"):
        await end_marked(place)
    note.write_text(str(directory))


def clear_all() -> None:
    """Remove what a run that was killed left, of Slurm's worlds and of Ray's."""
    _release_mixings()
    kubectl("delete", "namespace", NAMESPACE, ray_cluster.NAMESPACE, "--ignore-not-found", "--timeout=180s")
    kubectl("delete", ",".join(f"{kind}.kueue.x-k8s.io" for kind in _OURS), "--all", "--timeout=30s")


def _clear() -> None:
    """Remove what an earlier world left, and make the namespace anew; others may be at work in theirs."""
    _release_mixings()
    kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--timeout=180s")
    for kind, names in _OURS.items():
        kubectl("delete", f"{kind}.kueue.x-k8s.io", *names, "--ignore-not-found", "--timeout=30s")
    kubectl("create", "namespace", NAMESPACE)


def _release_mixings() -> None:
    """Their bridge is gone, and nobody else takes its finalizer off."""
    for mixing in kubectl("-n", NAMESPACE, "get", "workloadmixings", "--output=name").split():
        kubectl("-n", NAMESPACE, "patch", mixing, "--type=merge", '--patch={"metadata":{"finalizers":null}}')
