"""Node records without a pod are deleted, and only those: our watch may lag behind Slurm."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.views import Pod
from k8s_bridge.core import naming
from k8s_bridge.core.errors import Missing
from k8s_bridge.slurm.act import Actor
from k8s_bridge.slurm.effects import GhostsDelete
from k8s_bridge.slurm.tables import make_tables


class Cluster:
    """A Kubernetes with one pod or none, and a slurmctld that notes what is deleted."""

    def __init__(self, pod: dict[str, Any] | None) -> None:
        self.pod = pod
        self.deleted: list[str] = []

    async def get(self, view: type[Pod], *, name: str, namespace: str) -> Pod:
        if self.pod is None:
            raise Missing(name)
        metadata = {"name": name, "namespace": namespace, **self.pod.get("metadata", {})}
        return msgspec.convert({**self.pod, "metadata": metadata}, view)

    async def delete_node(self, name: str) -> None:
        self.deleted.append(name)


@pytest.mark.parametrize(
    ("pod", "deleted"),
    [
        ({"status": {"phase": "Running"}}, []),
        ({"status": {"phase": "Failed"}}, ["n"]),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, ["n"]),
        (None, ["n"]),
    ],
    ids=["runs", "ended", "ends", "is not there"],
)
async def test_a_node_stays_while_its_pod_is_there(pod: dict[str, Any] | None, deleted: list[str]) -> None:
    cluster = Cluster(pod)
    unused: Any = None
    actor = Actor(
        kube=cluster,  # type: ignore[arg-type]  # only what is called here
        slurm=cluster,  # type: ignore[arg-type]  # the same
        events=unused,
        tables=make_tables(mixing=naming.mixing_feature("ns", "wm")),
        namespace="ns",
        render=unused,
        clock=unused,
    )

    await actor.act(GhostsDelete(nodes=("n",)))

    assert cluster.deleted == deleted
