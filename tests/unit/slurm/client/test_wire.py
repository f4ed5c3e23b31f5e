from __future__ import annotations

import msgspec
import pytest

from k8s_bridge.slurm.client.wire_job import WireJob, job_of
from k8s_bridge.slurm.client.wire_node import WireNode, node_of
from k8s_bridge.slurm.model import Job, Node

NO_VAL, INFINITE = 0xFFFFFFFE, 0xFFFFFFFF
NO_VAL16, INFINITE16 = 0xFFFE, 0xFFFF
NO_VAL64 = 0xFFFFFFFFFFFFFFFE
SET_ONLY = {"set": True, "infinite": False, "number": 5}
UNSET = {"set": False, "infinite": False, "number": 0}
NO_LIMIT = {"set": False, "infinite": True, "number": 0}


def job(**fields: object) -> Job:
    raw = msgspec.json.encode({"job_id": 1, "job_state": ["PENDING"], **fields})
    return job_of(msgspec.json.decode(raw, type=WireJob), exclusive_known=True)


def node(**fields: object) -> Node:
    return node_of(msgspec.json.decode(msgspec.json.encode({"name": "a", **fields}), type=WireNode))


@pytest.mark.parametrize("raw", [None, UNSET, NO_LIMIT, NO_VAL, INFINITE])
def test_a_time_limit_that_is_none(raw) -> None:
    assert job(time_limit=raw).time_limit is None


@pytest.mark.parametrize("raw", [5, 5.0, SET_ONLY])
def test_a_time_limit_in_minutes(raw) -> None:
    assert job(time_limit=raw).time_limit == 5


@pytest.mark.parametrize("raw", [0, None, UNSET, NO_LIMIT, NO_VAL16, INFINITE16])
def test_counts_that_were_not_asked_for(raw) -> None:
    found = job(
        tasks_per_node=raw, tasks_per_core=raw, cpus_per_task=raw, threads_per_core=raw, core_spec=raw
    )
    assert {
        found.tasks_per_node,
        found.tasks_per_core,
        found.cpus_per_task,
        found.threads_per_core,
        found.core_spec,
    } == {None}


def test_memory_zero_is_all_of_it_and_unset_is_none() -> None:
    assert job(memory_per_node={"set": True, "infinite": False, "number": 0}).memory_per_node == 0
    assert job(memory_per_node=UNSET, memory_per_cpu=NO_VAL64).memory_per_node is None
    assert job(memory_per_cpu=NO_VAL64).memory_per_cpu is None
    assert job(memory_per_node=100_000).memory_per_node == 100_000


def test_the_mark_of_an_unset_thread_spec_is_no_number_of_threads() -> None:
    assert job(core_spec=0, thread_spec=32766).thread_spec is None
    assert job(core_spec=0, thread_spec=2).thread_spec == 2


def test_numbers_that_look_like_marks_of_smaller_fields_are_numbers() -> None:
    assert job(tasks=NO_VAL16, cpus=INFINITE16, priority=4294901758).priority == 4294901758
    assert job(tasks=NO_VAL16).tasks == NO_VAL16


@pytest.mark.parametrize(
    ("fields", "held"),
    [
        ({"hold": True, "priority": 0}, True),
        ({"hold": False, "priority": 0}, False),
        ({"job_state": "PENDING", "priority": 0}, True),
        ({"job_state": "PENDING", "priority": 4294901758}, False),
        ({"job_state": "CANCELLED", "priority": 0}, False),
    ],
)
def test_held(fields, held) -> None:
    assert job(**fields).held is held


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (0, 0),
        (3 << 8, 3),
        (9, 137),
        (None, None),
        ({"return_code": SET_ONLY, "signal": {"id": UNSET}}, 5),
        ({"return_code": UNSET, "signal": {"id": {"set": True, "number": 9}}}, 137),
        ({"return_code": UNSET, "signal": {"signal_id": {"set": True, "number": 15}}}, 143),
    ],
)
def test_exit_codes_are_told_as_a_shell_tells_them(raw, code) -> None:
    assert job(exit_code=raw).exit_code == code


@pytest.mark.parametrize(("raw", "word"), [(["none"], "none"), ("none", "none"), ([], ""), (None, "")])
def test_exclusive(raw, word) -> None:
    assert job(shared=raw).exclusive == word


def test_oversubscribe_has_one_name_whatever_the_version() -> None:
    assert job(shared="shared").exclusive == job(shared=["oversubscribe"]).exclusive == "oversubscribe"


def test_a_job_outside_arrays_and_heterogeneous_jobs_has_no_such_ids() -> None:
    plain = job(array_job_id=0, array_task_id=UNSET, het_job_id=0, het_job_offset=0)
    assert {plain.array_job_id, plain.array_task_id, plain.het_job_id, plain.het_job_offset} == {None}
    first = job(array_job_id=4, array_task_id=0, het_job_id=5, het_job_offset=0)
    assert (first.array_task_id, first.het_job_offset) == (0, 0)


def test_nodes_of_22_05_and_later_ones_look_the_same() -> None:
    old = node(state="idle", state_flags=["DRAIN"], features="a,b", active_features="a,b", partitions=["p"])
    new = node(state=["IDLE", "DRAIN"], features=["a", "b"], active_features=["a", "b"], partitions=["p"])
    assert old == new
    assert (new.features, new.usable) == (("a", "b"), False)
