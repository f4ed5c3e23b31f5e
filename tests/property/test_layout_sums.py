"""Whatever is planned adds up to what was asked for, and nothing huge gets through."""

from __future__ import annotations

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from k8s_bridge.slurm.layout import Exclusive, Layout, NodeShape, Refusal, digest, plan
from k8s_bridge.slurm.layout.limits import MAX_CPUS, MAX_MEMORY, MAX_NODES
from k8s_bridge.slurm.model import Job

counts = st.one_of(st.integers(1, 8), st.integers(1, 2**33))
shapes = st.one_of(
    st.none(),
    st.builds(
        NodeShape,
        cpus=st.integers(1, 128),
        memory=st.one_of(st.none(), st.integers(1, 10**6)),
        gpus=st.integers(0, 8),
    ),
)
gres_texts = st.one_of(
    st.just(""),
    st.builds("gres/{}:{}".format, st.sampled_from(("gpu", "gpu:a100", "fpga")), counts),
    st.text(max_size=12),
)


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    nodes, per_task = draw(counts), draw(st.integers(1, 8))
    tasks = draw(counts)
    return Job(
        job_id=7,
        tasks=tasks,
        cpus=tasks * per_task,
        node_count=draw(counts),
        max_nodes=draw(st.one_of(st.none(), st.just(0), st.just(nodes), counts)),
        cpus_per_task=draw(st.sampled_from((None, per_task))),
        tasks_per_node=draw(st.one_of(st.none(), st.integers(0, 4))),
        min_cpus_per_node=draw(st.one_of(st.none(), st.integers(0, 4))),
        memory_per_node=draw(st.one_of(st.none(), st.integers(0, 2**40))),
        memory_per_cpu=draw(st.one_of(st.none(), st.integers(0, 10**4))),
        tres_per_node=draw(gres_texts),
        tres_per_job=draw(gres_texts),
        tres_per_task=draw(gres_texts),
        cpus_per_tres=draw(st.sampled_from(("", "gres/gpu:2"))),
        memory_per_tres=draw(st.sampled_from(("", "gres/gpu:100"))),
        tres_request=draw(st.sampled_from(("", f"cpu={tasks * per_task},node={nodes}"))),
        exclusive=draw(st.sampled_from(("", "none", "user"))),
        flags=draw(st.sampled_from((frozenset(), frozenset({"EXACT_MEMORY_REQUESTED"})))),
        features=draw(st.one_of(st.just(""), st.text(max_size=8))),
    )


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(job=jobs(), shape=shapes, exclusive=st.sampled_from(Exclusive))
def test_a_plan_is_total_and_adds_up(job: Job, shape: NodeShape | None, exclusive: Exclusive) -> None:
    answer = plan(job, node_shape=shape, exclusive=exclusive)
    if isinstance(answer, Refusal):
        assert answer.option
        assert answer.text.endswith(".")
        return
    assert 1 <= answer.nodes <= MAX_NODES
    assert all(1 <= group.shape.cpus <= MAX_CPUS for group in answer.groups)
    assert all(0 <= group.shape.memory <= MAX_MEMORY for group in answer.groups)
    assert sum(group.count * group.tasks for group in answer.groups) >= (job.tasks or 1)
    if not job.cpus_per_tres:
        assert sum(group.count * group.shape.cpus for group in answer.groups) >= (job.cpus or 1)
    assert len(digest(answer)) == 16


@given(nodes=st.integers(1, 500), total=st.integers(1, 2000))
def test_job_wide_gpus_are_all_advertised_and_not_one_more(nodes: int, total: int) -> None:
    job = Job(
        job_id=7, tasks=nodes, cpus=nodes, tres_request=f"node={nodes}", tres_per_job=f"gres/gpu:{total}"
    )
    answer = plan(job, node_shape=None, exclusive=Exclusive.AS_ASKED)
    assert isinstance(answer, Layout) is (total >= nodes)
    if isinstance(answer, Layout):
        advertised = [(group.count, group.shape.gres[0][2]) for group in answer.groups]
        assert sum(count * gpus for count, gpus in advertised) == total
        assert max(gpus for _, gpus in advertised) - min(gpus for _, gpus in advertised) <= 1


@given(job=jobs())
def test_the_bridges_own_pin_changes_nothing(job: Job) -> None:
    pin = "nodes-for-7"
    pinned = msgspec.structs.replace(job, features=f"({job.features})&{pin}" if job.features else pin)
    before, after = (plan(j, node_shape=None, exclusive=Exclusive.AS_ASKED) for j in (job, pinned))
    assert before == after
