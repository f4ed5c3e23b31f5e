"""A world in which all is well; each test plants one thing that is not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from k8s_bridge.kube import auth
from k8s_bridge.sandbox.apiserver.kinds import (
    CLUSTERQUEUES,
    CONFIGMAPS,
    DEPLOYMENTS,
    NAMESPACES,
    WORKLOADMIXINGS,
)
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.world import World, WorldConfig
from k8s_bridge.sandbox.world.config import MIXING, NAMESPACE
from k8s_bridge.slurm import doctor
from k8s_bridge.slurm.doctor import Result, Subject

CONF = Path(__file__).parents[2] / "fixtures" / "slurm" / "24.11" / "scontrol-show-config.txt"
WELL = {"Ready": "True", "SlurmReachable": "True", "Conflicting": "False", "example.com/Other": "False"}
"""What the conditions of a WorkloadMixing say when all is well; the last is somebody else's."""


class Patient:
    """The world, what the doctor is told of it, and the results."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.storage = world.storage
        self.conf: dict[str, str] | None = dict(doctor.parse(CONF.read_text()))
        self.server = auth.load(str(world.kubeconfig))
        self.subject = Subject(namespaces=(NAMESPACE,))

    @staticmethod
    def condition(kind: str, status: str = "True", message: str = "") -> dict[str, str]:
        since = "2026-01-01T00:00:00Z"
        return {
            "type": kind,
            "status": status,
            "reason": "Seen",
            "message": message,
            "lastTransitionTime": since,
        }

    def without_conf(self) -> None:
        self.conf = None

    def mixing(self, **spec) -> None:
        self.patch(WORKLOADMIXINGS, MIXING, {"spec": spec})

    def patch(self, kind, name: str, patch: dict, *, namespace: str = NAMESPACE) -> None:
        self._patch(kind, name, patch, namespace, "")

    def status(self, kind, name: str, status: dict, *, namespace: str = NAMESPACE) -> None:
        self._patch(kind, name, {"status": status}, namespace, "status")

    def _patch(self, kind, name: str, patch: dict, namespace: str, subresource: str) -> None:
        place = namespace if kind.namespaced else ""
        self.storage.patch(kind, place, name, patch, subresource=subresource)

    async def results(self) -> list[Result]:
        subject = replace(self.subject, means=replace(self.subject.means, conf=self.conf))
        return await doctor.examine(self.server, subject)


@pytest.fixture
async def patient(tmp_path: Path) -> AsyncIterator[Patient]:
    async with World.start(WorldConfig(directory=tmp_path)) as world:
        yield await furnished(world)


async def furnished(world: World) -> Patient:
    """With the Deployments that a cluster has, and a status as a bridge writes it."""
    patient = Patient(world)
    for namespace, name in (("kueue-system", "kueue"), ("jobset-system", "jobset"), ("bridge", "k8s-bridge")):
        world.storage.create(NAMESPACES, {"metadata": {"name": namespace}})
        world.storage.create(DEPLOYMENTS, deployment(namespace, name))
    config = {"controller_manager_config.yaml": "integrations: {frameworks: [jobset.x-k8s.io/jobset]}"}
    meta = {"namespace": "kueue-system", "name": "kueue-manager-config"}
    world.storage.create(CONFIGMAPS, {"metadata": meta, "data": config})
    patient.status(
        WORKLOADMIXINGS,
        MIXING,
        {"conditions": [patient.condition(kind, status) for kind, status in WELL.items()]},
    )
    await world.until(lambda: _active(world), what="Kueue has looked at the queue")
    return patient


def _active(world: World) -> bool:
    (queue,) = world.storage.list(CLUSTERQUEUES)
    found = conditions.find(queue, "Active")
    return bool(found and found["status"] == "True")


def deployment(namespace: str, name: str) -> dict:
    args = ["run", "--lease-name=x", "--allow-insecure-tls"]
    container = {"name": name, "image": f"{name}:1", "args": args}
    template = {"spec": {"serviceAccountName": name, "containers": [container]}}
    labels = {"app.kubernetes.io/name": name}
    return {
        "metadata": {"namespace": namespace, "name": f"{name}-controller", "labels": labels},
        "spec": {"replicas": 2, "template": template},
        "status": {"availableReplicas": 2},
    }
