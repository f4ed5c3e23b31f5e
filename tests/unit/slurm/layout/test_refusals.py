from __future__ import annotations

import pytest

from k8s_bridge.slurm.layout import Exclusive, Layout, Refusal, plan
from k8s_bridge.slurm.layout.features import most_slots, pin
from k8s_bridge.slurm.layout.refusals import ROWS
from k8s_bridge.slurm.model import LONGEST, Job

REFUSED: dict[str, dict[str, object]] = {
    "--gpus-per-socket": {"tres_per_socket": "gres/gpu:1", "sockets_per_node": 2},
    "--ntasks-per-socket": {"tasks_per_socket": 2},
    "--ntasks-per-board": {"tasks_per_board": 1},
    "--ntasks-per-gpu": {"tasks_per_tres": 2},
    "--sockets-per-node": {"sockets_per_node": 2},
    "--cores-per-socket": {"cores_per_socket": 2},
    "--threads-per-core": {"threads_per_core": 2},
    "--core-spec": {"core_spec": 0},
    "--thread-spec": {"thread_spec": 1},
    "--overcommit": {"tasks": 4, "cpus": 1, "tres_request": "cpu=1,node=1"},
    "--nodelist": {"required_nodes": "a"},
    "--exclude": {"excluded_nodes": "a"},
    "--prefer": {"prefer": "a"},
    "--constraint": {"features": "a|b"},
    "--switches": {"required_switches": 1},
    "--contiguous": {"contiguous": True},
    "--spread-job": {"flags": frozenset({"SPREAD_JOB"})},
    "--tmp": {"min_tmp_disk": 100},
    "--network": {"network": "a"},
    "--bb": {"burst_buffer": "a"},
    "--container": {"container": "a"},
    "--reboot": {"reboot": True, "exclusive": "none"},
    "--gres-flags=enforce-binding": {"flags": frozenset({"GRES_ENFORCE_BIND"})},
    "--exclusive=topo": {"exclusive": "topo"},
}


def answer(**fields: object) -> Layout | Refusal:
    record = Job(job_id=7, **fields)  # type: ignore[arg-type]
    return plan(record, node_shape=None, exclusive=Exclusive.AS_ASKED)


@pytest.mark.parametrize("option", REFUSED)
def test_each_option_is_refused_by_its_name_with_an_advice(option: str) -> None:
    refusal = answer(**REFUSED[option])
    assert isinstance(refusal, Refusal)
    assert refusal.option == option
    assert refusal.text.endswith(".")


@pytest.mark.parametrize(
    "features",
    [
        "nodes-for-8",
        "fast&nodes-for-8",
        "nodes-for-8-s0",
        "nodes-for-8-c1",
        "by-hpc.main",
        "a&by-hpc.other&b",
    ],
)
def test_nobodys_nodes_pass_for_those_of_another_job(features: str) -> None:
    """They would be pinned to, taken for ghosts, and deleted."""
    for expression in (features, f"({features})&nodes-for-7"):
        refusal = answer(features=expression)
        assert isinstance(refusal, Refusal)
        assert (refusal.option, "bridge's own nodes" in refusal.text) == ("--constraint", True)


@pytest.mark.parametrize("features", ["by-night", "nodes.for-8", "fast&by-night", "(fast)&nodes-for-7"])
def test_features_that_only_look_like_it_are_nobodys_but_the_users(features: str) -> None:
    assert isinstance(answer(features=features), Layout)


def test_constraints_leave_room_for_the_bridges_own() -> None:
    """slurmctld refuses more than 1,024 bytes, and the job would never be released."""
    long = "&".join(["f" * 50] * 19)
    assert isinstance(answer(features=long), Layout)
    refusal = answer(features=f"{long}&{'g' * 40}")
    assert isinstance(refusal, Refusal)
    assert "too long" in refusal.text


@pytest.mark.parametrize("user", ["", "fast", "&".join(["f" * 50] * 19)])
@pytest.mark.parametrize("job_id", [7, 67_000_000])
def test_as_many_slots_are_named_as_fit(user: str, job_id: int) -> None:
    most = most_slots(user, job_id=job_id)
    slots = tuple(range(999, 999 - most, -1))
    assert len(pin(user, job_id=job_id, slots=slots)) <= LONGEST
    more = tuple(range(999, 999 - most - 2, -1))
    assert len(pin(user, job_id=job_id, slots=more)) > LONGEST


def test_every_row_has_its_case() -> None:
    assert {row.option for row in ROWS} == set(REFUSED)


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "x", "comment": "y", "qos": "z", "dependency": "singleton", "requeue": False},
        {"time_minimum": 5, "deadline": 1_800_000_000, "max_cpus": 0},
        {"licenses": "a:1", "reservation": "a"},
        {"array_job_id": 7, "array_task_string": "1-3", "array_max_tasks": 2},
        {"array_job_id": 0, "het_job_id": 0, "tasks_per_socket": 0, "required_switches": 0},
        {"flags": frozenset({"PREFER_MINIMUM_NODE_COUNT", "GRES_BINDING_DISABLED"})},
        # -N2-4 alone: slurmctld counts a task a node, but one CPU for all.
        {"tasks": 2, "cpus": 1, "node_count": 2, "tres_request": "cpu=1,node=2,billing=1"},
    ],
)
def test_what_does_not_change_the_need_passes(fields: dict[str, object]) -> None:
    assert isinstance(answer(**fields), Layout)


def test_an_option_that_is_met_elsewhere_passes() -> None:
    record = Job(job_id=7, required_switches=1)
    met = frozenset({"--switches"})
    assert isinstance(plan(record, node_shape=None, exclusive=Exclusive.AS_ASKED, met=met), Layout)
