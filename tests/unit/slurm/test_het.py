"""A heterogeneous job is decided on as one, and what is done to it is done to each component."""

from __future__ import annotations

import msgspec

from k8s_bridge.slurm import het
from k8s_bridge.slurm.effects import Cancel, PinAndRelease, TakeHold
from k8s_bridge.slurm.layout.types import Group, Layout, Refusal, Shape
from k8s_bridge.slurm.model import Job

PENDING, RUNNING = frozenset({"PENDING"}), frozenset({"RUNNING"})


def component(offset: int, **fields: object) -> Job:
    base = Job(job_id=7 + offset, het_job_id=7, het_job_offset=offset, partition="all", states=PENDING)
    return msgspec.structs.replace(base, **{"time_limit": 5, **fields})


def layout(count: int) -> Layout:
    groups = tuple(Group(count=1, tasks=1, shape=Shape(cpus=cpus, memory=1)) for cpus in range(1, count + 1))
    return Layout(groups=groups)


def test_it_is_held_while_one_component_is_and_the_hold_is_that_ones():
    free = component(0, admin_comment="k8s-bridge: Released: on a")
    held = component(1, held=True, reason="JobHeldAdmin", admin_comment="k8s-bridge: Queued: x")
    whole = het.whole([free, held])
    assert (whole.held, whole.reason, whole.admin_comment) == (True, held.reason, held.admin_comment)


def test_a_hold_that_is_not_ours_yet_goes_before_one_that_is():
    ours = component(0, held=True, reason="JobHeldAdmin", admin_comment="k8s-bridge: Queued: x")
    owners = component(1, held=True, reason="JobHeldUser")
    assert het.whole([ours, owners]).reason == "JobHeldUser"


def test_it_is_pinned_when_all_components_are():
    pinned = component(0, features="(fast)&nodes-for-7-c0")
    assert het.whole([pinned, component(1)]).features == ""
    assert het.whole([pinned, component(1, features="nodes-for-7-c1")]).features == "nodes-for-7"


def test_it_runs_while_one_component_does_on_the_nodes_of_those_that_do():
    over = component(0, states=frozenset({"COMPLETED"}), nodes="a")
    running = [component(n, states=RUNNING, nodes=node) for n, node in ((1, "b"), (2, "c"))]
    whole = het.whole([over, *running])
    assert (whole.states, whole.nodes, whole.terminal) == (RUNNING, "b,c", False)
    ended = [component(n, states=frozenset({"COMPLETED"})) for n in range(2)]
    assert het.whole(ended).terminal


def test_a_component_that_is_free_already_is_not_released_again():
    parts = (component(0), component(1, held=True, features="fast"))
    release = PinAndRelease(job_id=7, constraints="nodes-for-7", nodes=("a",), text="t")
    (effect,) = het.spread([release], parts)
    assert (effect.job_id, effect.constraints) == (8, "(fast)&nodes-for-7-c1")


def test_each_component_is_held_and_the_first_alone_is_cancelled():
    parts = (component(0), component(1))
    effects = [TakeHold(job_id=7, text="t"), Cancel(job_id=7, text="t")]
    assert [effect.job_id for effect in het.spread(effects, parts)] == [7, 8, 7]


def test_it_is_as_large_as_all_components_and_refused_with_one_of_them():
    parts = (component(0), component(1))
    found, shape = het.joined(parts, [(layout(1), "a"), (layout(2), "b")])
    assert isinstance(found, Layout)
    assert (found.nodes, shape) == (3, "a+b")
    refusal = Refusal(option="--tmp", text="no")
    assert het.joined(parts, [(layout(1), "a"), (refusal, "")]) == (refusal, "")


def test_what_kueue_cannot_admit_as_one_is_refused_by_name():
    parts = (component(0), component(1))
    many, _ = het.joined(parts, [(layout(het.MAX_POD_SETS), "a"), (layout(1), "b")])
    assert isinstance(many, Refusal)
    assert "9 kinds of nodes" in many.text
    apart = (component(0), component(1, partition="other"))
    two, _ = het.joined(apart, [(layout(1), "a"), (layout(1), "b")])
    assert isinstance(two, Refusal)
    assert "one partition" in two.text
