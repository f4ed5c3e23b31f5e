"""What `explain` tells of jobs by the names that squeue shows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from api.load import parse_workloadmixing
from api.views import JobSet, ObjectMeta
from k8s_bridge.core import naming
from k8s_bridge.slurm.controller import Said
from k8s_bridge.slurm.details import Details
from k8s_bridge.slurm.model import Job, Node
from k8s_bridge.slurm.observe import Observer
from k8s_bridge.slurm.policy import Policies
from k8s_bridge.slurm.tables import make_tables
from k8s_bridge.slurm.unit import Slot, State

MIXING = parse_workloadmixing(
    yaml.safe_load(Path("tests/fixtures/workloadmixing/prototype-minimal.yaml").read_text())
)
PARTITION = MIXING.spec.partition_mappings[0].partition_name
MINE = naming.mixing_feature("ns", "wm")
PENDING, RUNNING = frozenset({"PENDING"}), frozenset({"RUNNING"})


class Desk:
    """Job 7, array 42 with task 3 as job 45 on slot 0 and task 4 pending, and het job 60+61."""

    def __init__(self) -> None:
        self.tables = make_tables(mixing=MINE)
        observer = Observer(self.tables, policies=Policies(MIXING), planner=lambda job, route: (None, ""))
        for job in (
            Job(job_id=7, partition=PARTITION, states=PENDING),
            Job(job_id=42, partition=PARTITION, states=PENDING, array_job_id=42, array_size=2),
            Job(job_id=45, states=RUNNING, array_job_id=42, array_task_id=3, nodes="slurm-job-42-s0-x"),
            Job(job_id=60, partition=PARTITION, states=PENDING, het_job_id=60, het_job_offset=0),
            Job(job_id=61, partition=PARTITION, states=PENDING, het_job_id=60, het_job_offset=1),
        ):
            self.tables.jobs.upsert(job)
        for slot in (0, 1):
            self._slot(slot)
        said = {
            key: Said(state=State.QUEUED, reason="", text="", since=0.0)
            for key in (7, 42, 60, Slot(42, 0), Slot(42, 1))
        }
        self.details = Details(SimpleNamespace(said=said, name="ns/wm"), observer)

    def _slot(self, number: int) -> None:
        labels = {naming.SLURM_JOB_ID: "42", naming.SLURM_ARRAY_SLOT: str(number)}
        name = naming.jobset_name(42, slot=number)
        annotations = {naming.IDENTITY: "0.0.0"}
        self.tables.jobsets.upsert(
            JobSet(metadata=ObjectMeta(name=name, uid=name, labels=labels, annotations=annotations))
        )
        features = (MINE, naming.node_feature(42), naming.slot_feature(42, number))
        self.tables.nodes.upsert(Node(name=f"{name}-x", features=features))

    def explain(self, name: str) -> dict[str, dict[str, str]]:
        return {detail.row.name: detail.facts for detail in self.details(name)}


@pytest.mark.parametrize(
    ("name", "units"),
    [
        ("7", {"7"}),
        ("7.batch", {"7"}),
        ("42", {"42"}),
        ("42_[4-9]", {"42"}),
        ("42_4", {"42"}),
        ("42_3", {"42", "42-s0"}),
        ("45", {"42", "42-s0"}),
        ("42-s1", {"42-s1"}),
        ("60", {"60"}),
        ("61", {"60"}),
        ("60+1", {"60"}),
        ("", {"7", "42", "42-s0", "42-s1", "60"}),
        *((nobody, set()) for nobody in ("8", "42_", "x", "42-s9", "-7", "4²", "99999999999999999999")),
    ],
)
def test_a_job_is_explained_by_whatever_name_squeue_has_for_it(name: str, units: set[str]):
    assert Desk().explain(name).keys() == units


def test_a_task_of_an_array_is_told_where_it_is():
    desk = Desk()
    assert desk.explain("42_3")["42"]["task 3"] == "RUNNING on slurm-job-42-s0-x"
    assert desk.explain("42_4")["42"]["task 4"] == "has not started yet, or is over"


@pytest.mark.parametrize("state", State)
def test_every_state_has_a_next_step(state: State):
    desk = Desk()
    desk.details._controller.said[7] = Said(state=state, reason="", text="", since=0.0)
    (detail,) = desk.details("7")
    assert detail.next_step
