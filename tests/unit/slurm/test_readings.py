"""What a bridge tells of itself is what it observed: on real tables."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import yaml

from api.load import parse_workloadmixing
from api.views import ClusterQueue, JobSet, LocalQueue, ObjectMeta
from k8s_bridge.core import naming
from k8s_bridge.runtime.reading import UnitGroup
from k8s_bridge.slurm.census import Group
from k8s_bridge.slurm.controller import Said
from k8s_bridge.slurm.model import Node, Ping
from k8s_bridge.slurm.observe import Observer
from k8s_bridge.slurm.policy import Policies
from k8s_bridge.slurm.readings import Readings
from k8s_bridge.slurm.report import SlurmHealth
from k8s_bridge.slurm.tables import make_tables
from k8s_bridge.slurm.unit import Seen, State

MIXING = parse_workloadmixing(
    yaml.safe_load(Path("tests/fixtures/workloadmixing/prototype-minimal.yaml").read_text())
)
NAMESPACE, QUEUE = MIXING.metadata.namespace, MIXING.spec.local_queue
PARTITION = MIXING.spec.partition_mappings[0].partition_name
MINE = naming.mixing_feature("ns", "wm")


class Anything:
    """A part of which the reading asks a few facts."""

    def __init__(self, **facts):
        self.__dict__.update(facts)

    def __len__(self):
        return 3


class Session:
    def __init__(self):
        self.tables = make_tables(mixing=MINE)
        policies = Policies(MIXING)
        self.observer = Observer(self.tables, policies=policies, planner=lambda job, route: (None, ""))
        self.groups, self.said = {}, {}
        self.readings = Readings(
            tables=self.tables,
            observer=self.observer,
            controller=Anything(census=Anything(groups=lambda: self.groups), said=self.said, guarded=True),
            queue=Anything(delayed=2, active=1),
            loop=Anything(wedged=lambda: ""),
            poller=Anything(malformed=4),
            health=Anything(
                now=lambda: SlurmHealth(last_good=90.0, token_expires=500.0),
                ping=Ping(release="24.11.5", api_version="v0.0.41", cluster="c"),
            ),
            blocked=lambda: "",
            clock=lambda: 100.0,
        )
        self.before = self.readings()
        self.readings.configure(policies)


@pytest.fixture
def session():
    return Session()


def test_before_there_is_a_spec_it_is_not_running(session):
    assert session.before.blocked
    assert not session.before.info


def test_units_are_counted_by_what_is_bounded(session):
    session.groups = {
        Group(State.QUEUED, PARTITION, requeued=False, queue=QUEUE): 2,
        Group(State.QUEUED, PARTITION, requeued=True, queue=QUEUE): 1,
        Group(State.DRAINING, "anything,users,write", requeued=False): 1,
        Group(State.HELD, PARTITION, requeued=False, slot=True, queue=QUEUE): 5,
    }
    reading = session.readings()
    assert reading.units == {
        UnitGroup(state="Queued", partition=PARTITION, queue=QUEUE): 3,
        UnitGroup(state="Draining"): 1,
        UnitGroup(state="Held", partition=PARTITION, queue=QUEUE): 5,
    }
    assert reading.held_jobs == 3, "slots of an array are not jobs"


def test_the_oldest_unit_of_a_state_is_as_old_as_the_cluster_says(session):
    session.said |= {key: Said(state=State.ADMITTED, reason="", text="", since=95.0) for key in (1, 2)}
    session.observer.seen[1] = Seen(state=State.ADMITTED, since=40.0)
    assert session.readings().oldest == {"Admitted": 60.0}


def test_a_node_of_ours_without_a_jobset_is_a_ghost(session):
    for job_id, feature in ((1, MINE), (2, MINE), (3, "of somebody else")):
        session.tables.nodes.upsert(Node(name=f"n{job_id}", features=(feature, naming.node_feature(job_id))))
    labels, made_for = {naming.SLURM_JOB_ID: "1"}, {naming.IDENTITY: "50.0.0"}
    name = naming.jobset_name(1)
    meta = ObjectMeta(name=name, namespace=NAMESPACE, labels=labels, annotations=made_for)
    session.tables.jobsets.upsert(JobSet(metadata=meta))
    reading = session.readings()
    assert (reading.slurm_nodes, reading.ghost_nodes) == (2, 1)


LOCAL = f"""{{"metadata": {{"name": "{QUEUE}", "namespace": "{NAMESPACE}"}},
 "spec": {{"clusterQueue": "all"}},
 "status": {{"pendingWorkloads": 7, "admittedWorkloads": 2, "flavorsReservation": [
   {{"name": "default", "resources": [{{"name": "cpu", "total": "1500m"}}]}}]}}}}"""
CLUSTER = """{"metadata": {"name": "all"}, "spec": {"resourceGroups": [{"coveredResources": ["cpu"],
 "flavors": [{"name": "default", "resources": [{"name": "cpu", "nominalQuota": 9}]}]}]},
 "status": {"flavorsReservation": [
   {"name": "default", "resources": [{"name": "cpu", "total": "6", "borrowed": "0"}]}]}}"""


def test_quota_is_read_off_kueue_and_a_queue_that_is_missing_says_so(session):
    (missing,) = session.readings().queues
    assert missing.name == QUEUE
    assert "does not exist" in missing.trouble
    session.tables.local_queues.upsert(msgspec.json.decode(LOCAL, type=LocalQueue))
    session.tables.cluster_queues.upsert(msgspec.json.decode(CLUSTER, type=ClusterQueue))
    (queue,) = session.readings().queues
    assert (queue.cluster_queue, queue.pending, queue.admitted, queue.trouble) == ("all", 7, 2, "")
    (cpu,) = queue.amounts
    assert (cpu.resource, cpu.used, cpu.used_by_all, cpu.nominal) == ("cpu", 1.5, 6.0, 9.0)


def test_the_rest_is_passed_on(session):
    reading = session.readings()
    assert (reading.ready, reading.delayed, reading.active) == (3, 2, 1)
    assert (reading.last_answer, reading.token_expires, reading.guarded) == (90.0, 500.0, True)
    assert reading.quarantined == {"slurm": 4}
    assert reading.info["slurm_version"] == "24.11.5"
