"""What is wrong with where jobs are sent to: said with what to do, and nothing said when all is well."""

from __future__ import annotations

import msgspec
import pytest

from api.views import AdmissionCheck, ClusterQueue, LocalQueue, Topology
from k8s_bridge.core.preflight import queue_trouble, topology_trouble
from k8s_bridge.slurm.policy import NO_TROUBLE

LOCAL = {"metadata": {"name": "team"}, "spec": {"clusterQueue": "pool"}}
NAMELESS = {"metadata": {"name": "x"}}
CLUSTER = {"metadata": {"name": "pool"}, "spec": {}}


def trouble(local=LOCAL, cluster=CLUSTER, controllers: tuple[str, ...] = ()) -> tuple[str, str]:
    return queue_trouble(
        "team",
        namespace="hpc",
        local_queue=msgspec.convert(local, LocalQueue) if local else None,
        cluster_queue=msgspec.convert(cluster, ClusterQueue) if cluster else None,
        checks=[
            msgspec.convert(NAMELESS | {"spec": {"controllerName": name}}, AdmissionCheck)
            for name in controllers
        ],
    )


@pytest.mark.parametrize(
    ("case", "reason", "says"),
    [
        ({"local": None}, "LocalQueueMissing", "LocalQueue hpc/team does not exist"),
        ({"cluster": None}, "ClusterQueueMissing", "ClusterQueue pool of LocalQueue hpc/team"),
        (
            {"local": LOCAL | {"spec": {"clusterQueue": "pool", "stopPolicy": "Hold"}}},
            "LocalQueueStopped",
            "LocalQueue hpc/team is stopped (Hold)",
        ),
        (
            {"cluster": CLUSTER | {"spec": {"stopPolicy": "HoldAndDrain"}}},
            "ClusterQueueStopped",
            "ClusterQueue pool is stopped (HoldAndDrain)",
        ),
        (
            {
                "cluster": CLUSTER
                | {"status": {"conditions": [{"type": "Active", "status": "False", "message": "no flavor"}]}}
            },
            "ClusterQueueInactive",
            "inactive: no flavor",
        ),
        (
            {"controllers": ("example.com/budget", "kueue.x-k8s.io/multikueue")},
            "MultiKueueQueue",
            "MultiKueue",
        ),
    ],
)
def test_a_queue_that_admits_nothing_says_why(case: dict, reason: str, says: str):
    found, text = trouble(**case)
    assert found == reason
    assert says in text


def test_a_queue_with_other_checks_is_well():
    assert trouble(controllers=("example.com/budget",)) == NO_TROUBLE


def test_a_topology_level_that_no_flavor_has_is_named_with_those_there_are():
    topology = msgspec.convert(
        NAMELESS
        | {"spec": {"levels": [{"nodeLabel": "example.com/rack"}, {"nodeLabel": "kubernetes.io/hostname"}]}},
        Topology,
    )
    found, text = topology_trouble("example.com/row", queue="pool", flavors=["a", "b"], topologies=[topology])
    assert found == "TopologyLevelMissing"
    assert "(a, b)" in text
    assert "example.com/row: their topologies have example.com/rack, kubernetes.io/hostname" in text
    assert (
        topology_trouble("example.com/rack", queue="pool", flavors=["a"], topologies=[topology]) == NO_TROUBLE
    )


def test_flavors_without_any_topology_say_so():
    _, text = topology_trouble("example.com/row", queue="pool", flavors=["a"], topologies=[])
    assert "none of them has a Topology" in text
