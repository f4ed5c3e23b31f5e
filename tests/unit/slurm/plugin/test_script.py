from __future__ import annotations

import pytest
from support.plugin_slurmctld import UNSET_32

from k8s_bridge.slurm.layout.features import plain_features
from k8s_bridge.slurm.layout.refusals import ROWS
from k8s_bridge.slurm.plugin.script import refusals

SHOWN = {
    "--gpus-per-socket": {"tres_per_socket": "gres/gpu:1"},
    "--ntasks-per-socket": {"ntasks_per_socket": 2.0},
    "--ntasks-per-core": {"ntasks_per_core": 1.0},
    "--ntasks-per-board": {"ntasks_per_board": 1.0},
    "--ntasks-per-gpu": {"ntasks_per_tres": 2.0},
    "--sockets-per-node": {"sockets_per_node": 2.0},
    "--cores-per-socket": {"cores_per_socket": 2.0},
    "--threads-per-core": {"threads_per_core": 1.0},
    "--core-spec": {"core_spec": 1.0},
    "--thread-spec": {"thread_spec": 1.0},
    "--overcommit": {"num_tasks": 4.0, "min_cpus": 2.0, "min_nodes": 2.0},
    "--nodelist": {"req_nodes": "n1"},
    "--exclude": {"exc_nodes": "n1"},
    "--prefer": {"prefer": "fast"},
    "--constraint": {"features": "a|b"},
    "--switches": {"req_switch": 1.0},
    "--contiguous": {"contiguous": 1.0},
    "--spread-job": {"bitflags": 503316736.0},
    "--tmp": {"pn_min_tmp_disk": 100.0},
    "--network": {"network": "sn_all"},
    "--bb": {"burst_buffer": "#BB"},
    "--container": {"container": "/bundle"},
    "--reboot": {"reboot": 1.0},
    "--gres-flags=enforce-binding": {"bitflags": 503316496.0},
    "--exclusive=topo": {"shared": 4.0},
}
"""How each option arrives in a real slurmctld (tests/slurm/test_plugin_real.py submits them)."""

MET = {
    "nothing": {},
    "licenses and a reservation": {"licenses": "matlab:1", "reservation": "maintenance"},
    "sizes": {"num_tasks": 4.0, "min_cpus": 8.0, "min_nodes": 2.0, "max_nodes": 2.0, "cpus_per_task": 2.0},
    "tasks on fewer nodes": {"num_tasks": 2.0, "min_cpus": 2.0, "min_nodes": 4.0},
    "a CPU for each node": {"num_tasks": 2.0, "min_cpus": 1.0, "min_nodes": 2.0},
    "cpus per gpu": {"num_tasks": 8.0, "min_cpus": 4.0, "cpus_per_tres": "gres/gpu:1"},
    "by REST": {"num_tasks": 4.0, "min_cpus": UNSET_32, "contiguous": 65534.0, "ntasks_per_core": 65535.0},
    "a thread of core_spec": {"core_spec": 32769.0},
    "no core_spec": {"core_spec": 65534.0},
    "plain features": {"features": "a&b-c&gpu:80/x"},
    "not ours": {"features": "all-nodes-for-2&nodes"},
    "use-min-nodes": {"bitflags": 503316992.0},
    "exclusive": {"shared": 0.0},
    "admin comment": {"admin_comment": "see k8s-bridge: Released"},
}


def test_every_option_that_the_layout_refuses_shows_at_submission():
    assert set(SHOWN) >= {row.option for row in ROWS}, "say in SHOWS of job_submit.lua how the option shows"


@pytest.mark.parametrize("option", refusals())
def test_a_refused_option_is_told_by_name_with_what_to_do(slurmctld, option):
    ctld = slurmctld("batch")
    code, _ = ctld.submit(partition="batch", **SHOWN[option])
    assert code == -1
    assert ctld.told == [f"k8s-bridge: {option} in partition batch: {refusals()[option]}"]


@pytest.mark.parametrize("expression", ["a|b", "a&&b", "&a", "a&", "a*2", "[a|b]", "(a&b)", "a,b", "a b"])
def test_only_features_joined_with_and_are_taken(slurmctld, expression):
    ctld = slurmctld("batch")
    assert ctld.submit(partition="batch", features=expression)[0] == -1
    assert ctld.told[0].startswith("k8s-bridge: --constraint in partition batch: ")
    assert plain_features(expression) is None, "as the bridge itself sees it"


@pytest.mark.parametrize("fields", MET.values(), ids=MET)
def test_what_can_be_met_is_held_and_nothing_else_is_changed(slurmctld, fields):
    ctld = slurmctld("batch")
    code, job = ctld.submit(partition="batch", **fields)
    assert (code, ctld.told, ctld.logged) == (0, [], [])
    assert job["priority"] == 0
    assert {key: job[key] for key in fields} == fields


@pytest.mark.parametrize("fields", SHOWN.values(), ids=SHOWN)
def test_other_partitions_are_left_alone(slurmctld, fields):
    ctld = slurmctld("batch")
    code, job = ctld.submit(partition="other", **fields)
    assert (code, ctld.told) == (0, [])
    assert job["priority"] == UNSET_32


@pytest.mark.parametrize(
    ("partition", "default", "held"),
    [
        (None, "batch", True),
        ("", "batch", True),
        (None, "other", False),
        ("other,batch", "other", True),
        ("other", "batch", False),
        ("batch2,bat", "other", False),
    ],
)
def test_the_partition_decides_named_listed_or_default(slurmctld, partition, default, held):
    fields = {} if partition is None else {"partition": partition}
    _, job = slurmctld("batch", default=default).submit(**fields)
    assert (job["priority"] == 0) is held


def test_switches_are_met_where_there_is_a_topology_level(slurmctld):
    ctld = slurmctld("batch", {"partitionName": "gpu", "topology": {"requiredLevel": "rack"}})
    assert ctld.submit(partition="gpu", req_switch=1.0)[0] == 0
    assert ctld.submit(partition="batch", req_switch=1.0)[0] == -1


@pytest.mark.parametrize("field", ["features", "prefer"])
@pytest.mark.parametrize("text", ["nodes-for-7", "a&nodes-for-7", "(nodes-for-7)", "a|nodes-for-7*2"])
@pytest.mark.parametrize("partition", ["batch", "other"])
def test_nobody_can_ask_for_the_nodes_of_another_job(slurmctld, partition, text, field):
    ctld = slurmctld("batch")
    assert ctld.submit(partition=partition, **{field: text})[0] == -1
    assert "features nodes-for-* are given by the bridge" in ctld.told[0]


@pytest.mark.parametrize("wish", ["abc", "0", "-5", "2147483648", "1.5", ""])
def test_a_priority_that_is_none_is_refused_at_submit(slurmctld, wish):
    ctld = slurmctld("batch", enablePrioritySync=True)
    assert ctld.submit(partition="batch", comment=f"run 7 wm:prio={wish}")[0] == -1
    assert ctld.told == [f"k8s-bridge: wm:prio={wish}: a whole number from 1 to 2147483647 is asked for."]
    assert ctld.submit(partition="other", comment=f"wm:prio={wish}")[0] == 0


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({}, "k8s-bridge: wm:prio=500 has no effect in partition batch."),
        ({"maxUserPriority": 300}, "k8s-bridge: wm:prio=500 has no effect in partition batch."),
        (
            {"enablePrioritySync": True, "maxUserPriority": 300},
            "k8s-bridge: wm:prio=500 is more than the 300 that apply.",
        ),
        ({"enablePrioritySync": True, "maxUserPriority": 500}, ""),
        ({"enablePrioritySync": True}, ""),
    ],
)
def test_a_user_is_told_what_becomes_of_a_priority(slurmctld, spec, told):
    ctld = slurmctld("batch", **spec)
    code, job = ctld.submit(partition="batch", comment="wm:prio=500")
    assert (code, job["priority"], job["comment"]) == (0, 0, "wm:prio=500")
    assert "".join(ctld.told) == told


def test_words_that_only_look_like_a_priority_are_none(slurmctld):
    ctld = slurmctld("batch", enablePrioritySync=True)
    for comment in ("swarm:prio=x", "wm:prio-applied=9", "prio=high", None):
        assert ctld.submit(partition="batch", **({"comment": comment} if comment else {}))[0] == 0
    assert ctld.told == []


def test_nobody_can_speak_in_the_voice_of_the_bridge(slurmctld):
    ctld = slurmctld("batch")
    assert ctld.submit(partition="batch", admin_comment="k8s-bridge: Released: x")[0] == -1
    assert ctld.submit(partition="other", admin_comment="k8s-bridge: Released: x")[0] == 0


def broken(ctld):
    """Every look at the options of a job fails from now on."""
    ctld.lua.execute("string.sub = nil")
    return ctld


def test_an_error_in_the_script_holds_managed_jobs_and_touches_no_other(slurmctld):
    ctld = broken(slurmctld("batch"))
    code, job = ctld.submit(partition="batch", features="a")
    assert (code, job["priority"]) == (0, 0)
    code, job = ctld.submit(partition="other", features="a")
    assert (code, job["priority"]) == (0, UNSET_32)
    assert len(ctld.logged) == 2
    assert "job_submit.lua" in ctld.logged[0]
    assert ctld.told == []


WAITING = {"partition": "batch", "priority": 0.0}
RELEASE = {"priority": 4294967295.0}


def test_an_owner_cannot_release_a_job_past_kueue(slurmctld):
    ctld = slurmctld("batch")
    assert ctld.modify(WAITING, **RELEASE)[0] == 2002
    assert "when Kueue admits it" in ctld.told[0]


@pytest.mark.parametrize(
    ("record", "fields", "uid"),
    [
        (WAITING, RELEASE, 0.0),
        (WAITING, {**RELEASE, "features": "nodes-for-7"}, 500.0),
        (WAITING | {"admin_comment": "k8s-bridge: HeldByOther: x"}, RELEASE, 1000.0),
        (WAITING | {"partition": "other"}, RELEASE, 1000.0),
        (WAITING | {"user_id": 0.0}, RELEASE, 0.0),
        (WAITING | {"priority": 100.0}, {"priority": 50.0}, 1000.0),
        (WAITING, {"priority": 0.0}, 1000.0),
        (WAITING, {"name": "x"}, 1000.0),
        (WAITING, {**RELEASE, "partition": "other"}, 1000.0),
    ],
    ids=["root", "the bridge", "own hold", "unmanaged", "root's own", "not held", "hold", "rename", "leaves"],
)
def test_updates_that_take_nothing_from_kueue_pass(slurmctld, record, fields, uid):
    ctld = slurmctld("batch")
    code, job = ctld.modify(record, uid=uid, **fields)
    assert (code, ctld.told) == (0, [])
    assert {key: job[key] for key in fields} == fields


def test_a_hold_that_could_not_be_seen_is_refused_with_what_to_do_instead(slurmctld):
    ctld = slurmctld("batch")
    record = WAITING | {"admin_comment": "k8s-bridge: Queued: x"}
    assert ctld.modify(record, priority=0.0)[0] == 2002
    assert "scontrol update StartTime=" in ctld.told[0]


def test_a_job_keeps_the_pin_to_its_nodes(slurmctld):
    ctld = slurmctld("batch")
    pinned = {"partition": "batch", "priority": 1.0, "features": "(a)&nodes-for-7"}
    assert ctld.modify(pinned, features="b")[0] == 2002
    assert "has its nodes already" in ctld.told[0]
    assert ctld.modify(pinned, name="x")[0] == 0
    assert ctld.modify(pinned | {"features": "a"}, features="b")[0] == 0


def test_a_priority_can_be_asked_for_later(slurmctld):
    ctld = slurmctld("batch", enablePrioritySync=True)
    assert ctld.modify(WAITING, comment="wm:prio=high")[0] == 2002
    assert ctld.modify(WAITING, comment="wm:prio=9")[0] == 0


def test_a_job_that_its_owner_moves_into_a_managed_partition_is_held(slurmctld):
    code, job = slurmctld("batch").modify({"partition": "other"}, partition="batch")
    assert (code, job["priority"]) == (0, 0)


def test_an_owner_cannot_update_a_job_onto_the_nodes_of_another(slurmctld):
    assert slurmctld("batch").modify({"partition": "other"}, features="nodes-for-7")[0] == 2002
