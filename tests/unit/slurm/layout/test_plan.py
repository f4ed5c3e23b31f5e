from __future__ import annotations

import pytest

from k8s_bridge.slurm.layout import Exclusive, Group, Layout, NodeShape, Refusal, Shape, digest, plan
from k8s_bridge.slurm.layout.request import TASKS_ASKED
from k8s_bridge.slurm.model import Job

BATCH = NodeShape(cpus=32, memory=64_000, gpus=4)


def job(*, nodes: int = 1, **fields: object) -> Job:
    """A held job as 24.11 shows it: `nodes` is the minimum of -N, node_count what slurmctld filled in."""
    cpus = fields.get("cpus", fields.get("tasks", nodes))
    defaults: dict[str, object] = {
        "job_id": 7,
        "tasks": nodes,
        "cpus": cpus,
        "node_count": nodes,
        "max_nodes": nodes,
        "cpus_per_task": 1,
        "min_cpus_per_node": 1,
        "memory_per_node": 0,
        "tres_request": f"cpu={cpus},node={nodes},billing={cpus}",
    }
    return Job(**(defaults | fields))  # type: ignore[arg-type]


def laid_out(
    job: Job, *, node_shape: NodeShape | None = None, exclusive: Exclusive = Exclusive.AS_ASKED
) -> list[tuple[int, int, int, int]]:
    """(count, tasks, cpus, memory) of each group."""
    layout = plan(job, node_shape=node_shape, exclusive=exclusive)
    assert isinstance(layout, Layout), layout
    return [(g.count, g.tasks, g.shape.cpus, g.shape.memory) for g in layout.groups]


def gres(job: Job, *, node_shape: NodeShape | None = None) -> list[tuple[int, tuple[object, ...]]]:
    layout = plan(job, node_shape=node_shape, exclusive=Exclusive.AS_ASKED)
    assert isinstance(layout, Layout), layout
    return [(g.count, g.shape.gres) for g in layout.groups]


def refusal(job: Job, *, node_shape: NodeShape | None = None) -> Refusal:
    answer = plan(job, node_shape=node_shape, exclusive=Exclusive.AS_ASKED)
    assert isinstance(answer, Refusal), answer
    return answer


@pytest.mark.parametrize(
    ("options", "record", "expected"),
    [
        ("", job(), [(1, 1, 1, 0)]),
        ("-n8", job(tasks=8), [(1, 8, 8, 0)]),
        ("-n4 -c2", job(tasks=4, cpus=8, cpus_per_task=2, node_count=4, max_nodes=0), [(1, 4, 8, 0)]),
        ("-N2", job(nodes=2), [(2, 1, 1, 0)]),
        ("-N2-4", job(nodes=2, max_nodes=4, cpus=1), [(2, 1, 1, 0)]),
        ("-N2 -n4", job(nodes=2, tasks=4), [(2, 2, 2, 0)]),
        ("-N2 -n3", job(nodes=2, tasks=3), [(1, 2, 2, 0), (1, 1, 1, 0)]),
        ("-N3 -n7 -c2", job(nodes=3, tasks=7, cpus=14, cpus_per_task=2), [(1, 3, 6, 0), (2, 2, 4, 0)]),
        (
            "-n5 --ntasks-per-node=2",
            job(nodes=3, tasks=5, tasks_per_node=2, min_cpus_per_node=2, max_nodes=0),
            [(3, 2, 2, 0)],
        ),
        ("--mincpus=4", job(min_cpus_per_node=4), [(1, 1, 4, 0)]),
        ("-N2 --mem=100", job(nodes=2, memory_per_node=100), [(2, 1, 1, 100)]),
        (
            "-N2 -n3 --mem-per-cpu=100",
            job(nodes=2, tasks=3, memory_per_cpu=100),
            [(1, 2, 2, 200), (1, 1, 1, 100)],
        ),
        ("--mincpus=4 --mem-per-cpu=9", job(min_cpus_per_node=4, memory_per_cpu=9), [(1, 1, 4, 36)]),
        (
            "-c2 --mincpus=5 --mem-per-cpu=9",
            job(cpus=2, cpus_per_task=2, min_cpus_per_node=5, memory_per_cpu=9),
            [(1, 1, 6, 45)],
        ),
        (
            "--mem-per-gpu=100 --gpus=2",
            job(memory_per_node=100, memory_per_tres="gres/gpu:100", tres_per_job="gres/gpu:2"),
            [(1, 1, 1, 200)],
        ),
        (
            "--cpus-per-gpu=2 --gpus=2",
            job(cpus=4, cpus_per_tres="gres/gpu:2", tres_per_job="gres/gpu:2"),
            [(1, 1, 4, 0)],
        ),
    ],
)
def test_options_become_nodes(options: str, record: Job, expected: list[tuple[int, int, int, int]]) -> None:
    assert laid_out(record) == expected, options


def test_a_requeued_job_that_still_completes_keeps_its_layout() -> None:
    asked = "cpu=3,mem=30M,node=2,billing=3"
    record = job(nodes=2, tasks=3, cpus=1, node_count=1, max_nodes=0, memory_per_cpu=10, tres_request=asked)
    assert laid_out(record) == laid_out(job(nodes=2, tasks=3, memory_per_cpu=10))


def test_22_05_without_cpus_per_task_and_minimum_nodes_is_read_by_its_totals() -> None:
    record = job(tasks=3, cpus=6, cpus_per_task=None, tasks_per_node=2, min_cpus_per_node=4, max_nodes=None)
    assert laid_out(record) == [(2, 2, 4, 0)]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (job(tres_per_node="gres/gpu:2"), [(1, (("gpu", "", 2),))]),
        (job(tres_per_node="gres:gpu:a100:2"), [(1, (("gpu", "a100", 2),))]),
        (job(tres_per_node="gres/gpu"), [(1, (("gpu", "", 1),))]),
        (job(tres_per_node="gres/gpu:a100"), [(1, (("gpu", "a100", 1),))]),
        (job(tres_per_node="gres/gpu:0"), [(1, ())]),
        (job(tres_per_node="gres/shard:2k,gres/fpga:1"), [(1, (("fpga", "", 1), ("shard", "", 2048)))]),
        (job(tres_per_job="gres/gpu:3"), [(1, (("gpu", "", 3),))]),
        (job(nodes=2, tres_per_job="gres/gpu:3"), [(1, (("gpu", "", 2),)), (1, (("gpu", "", 1),))]),
        (
            job(nodes=2, tasks=3, tres_per_task="gres/gpu:a100=1"),
            [(1, (("gpu", "a100", 2),)), (1, (("gpu", "a100", 1),))],
        ),
        (job(tasks=2, cpus=4, cpus_per_task=2, tres_per_task="cpu=2,gres/gpu:1"), [(1, (("gpu", "", 2),))]),
        (
            job(nodes=2, cpus=1, tres_per_job="gres/gpu:4", tres_per_node="gres/gpu:2"),
            [(2, (("gpu", "", 2),))],
        ),
    ],
)
def test_gres_falls_on_nodes_as_slurm_spreads_it(record: Job, expected: list[tuple[int, object]]) -> None:
    assert gres(record) == expected


def test_tasks_stay_with_their_gpus_where_one_is_a_multiple_of_the_other() -> None:
    def dealt(record: Job, shape: NodeShape | None = None) -> list[tuple[int, int, int]]:
        layout = plan(record, node_shape=shape, exclusive=Exclusive.AS_ASKED)
        assert isinstance(layout, Layout), layout
        return [(g.count, g.shape.cpus, g.shape.gres[0][2]) for g in layout.groups]

    assert dealt(job(nodes=2, tasks=6, tres_per_job="gres/gpu:3")) == [(1, 4, 2), (1, 2, 1)]
    assert dealt(job(nodes=2, tasks=5, tres_per_job="gres/gpu:3")) == [(1, 3, 2), (1, 2, 1)]
    six = job(nodes=2, tasks=3, cpus=6, cpus_per_task=2, tres_per_job="gres/gpu:6")
    assert dealt(six) == [(1, 4, 4), (1, 2, 2)]
    packed = job(tasks=12, tres_per_job="gres/gpu:4")
    assert dealt(packed, NodeShape(cpus=4, gpus=4)) == [(4, 3, 1)]


def test_bare_tasks_are_packed_into_virtual_nodes_and_take_their_share_of_memory() -> None:
    assert laid_out(job(tasks=8), node_shape=BATCH) == [(1, 8, 8, 16_000)]
    assert laid_out(job(tasks=64), node_shape=BATCH) == [(2, 32, 32, 64_000)]
    assert laid_out(job(tasks=65), node_shape=BATCH) == [(2, 22, 22, 44_000), (1, 21, 21, 42_000)]


def test_memory_and_gpus_fill_virtual_nodes_too() -> None:
    assert laid_out(job(tasks=8, memory_per_cpu=16_000), node_shape=BATCH) == [(2, 4, 4, 64_000)]
    assert gres(job(tasks=2, tres_per_job="gres/gpu:6"), node_shape=BATCH) == [(2, (("gpu", "", 3),))]
    assert gres(job(tasks=6, tres_per_task="gres/gpu=1"), node_shape=BATCH) == [(2, (("gpu", "", 3),))]


def test_a_node_count_that_was_asked_for_is_kept_whatever_the_virtual_node_is() -> None:
    assert laid_out(job(nodes=2, tasks=128), node_shape=BATCH)[0][:3] == (2, 64, 64)


def test_a_maximum_that_is_surely_the_users_is_respected() -> None:
    packed = job(tasks=128, node_count=1, max_nodes=3)
    assert refusal(packed, node_shape=BATCH).option == "--nodes"
    assert laid_out(job(tasks=96, node_count=1, max_nodes=3), node_shape=BATCH)[0][0] == 3


def test_a_maximum_that_slurmctld_filled_in_is_none() -> None:
    assert laid_out(job(tasks=128, node_count=1, max_nodes=1), node_shape=BATCH)[0][0] == 4


@pytest.mark.parametrize(
    "fields",
    [
        {"cpus": 256, "cpus_per_task": 2},
        {"tasks_per_node": 128, "min_cpus_per_node": 1},
        {"cpus_per_task": None},
    ],
)
def test_where_slurmctld_fills_in_none_a_maximum_of_one_is_one(fields: dict[str, object]) -> None:
    assert refusal(job(tasks=128, node_count=1, max_nodes=1, **fields), node_shape=BATCH).option == "--nodes"


def test_exclusive_jobs_get_whole_nodes() -> None:
    layout = plan(job(tasks=4, exclusive="none"), node_shape=BATCH, exclusive=Exclusive.AS_ASKED)
    whole = Shape(cpus=32, memory=64_000, gres=(("gpu", "", 4),), whole_node=True)
    assert layout == Layout(groups=(Group(count=1, tasks=4, shape=whole),))
    always = plan(job(tasks=4), node_shape=BATCH, exclusive=Exclusive.ALWAYS)
    assert always == layout


@pytest.mark.parametrize("word", ["", "user", "mcs", "oversubscribe"])
def test_other_words_of_sharing_do_not_take_whole_nodes(word: str) -> None:
    assert laid_out(job(tasks=4, exclusive=word), node_shape=BATCH) == [(1, 4, 4, 8_000)]


def test_all_memory_is_that_of_the_virtual_node_and_refused_without_one() -> None:
    for flag in ("EXACT_MEMORY_REQUESTED", "JOB_MEM_SET"):
        record = job(flags=frozenset({flag}))
        assert laid_out(record, node_shape=BATCH) == [(1, 1, 1, 64_000)]
        assert refusal(record).option == "--mem=0"


@pytest.mark.parametrize(
    ("record", "option"),
    [
        (job(tasks=1_000_000_000), "--ntasks"),
        (job(nodes=100_000), "--nodes"),
        (job(nodes=2**32 - 3), "--nodes"),
        (job(memory_per_node=104_857_600), "--mem"),
        (job(tres_per_node="gres/gpu:9999999"), "--gres"),
        # The 16 bits of cpus_per_task overflow; the total does not.
        (job(cpus=70_000, cpus_per_task=4464, min_cpus_per_node=4464), "--cpus-per-task"),
    ],
)
def test_huge_numbers_are_refused_not_clamped(record: Job, option: str) -> None:
    assert refusal(record).option == option


@pytest.mark.parametrize(
    ("record", "option"),
    [
        (job(cpus=33, cpus_per_task=33), "--cpus-per-task"),
        (job(memory_per_node=64_001), "--mem"),
        (job(tres_per_node="gres/gpu:5"), "--gres"),
        (job(cpus=8, cpus_per_task=8, max_nodes=0, tres_per_job="gres/gpu:8"), "--gpus"),
        (job(tasks=10, cpus=320, cpus_per_task=32, max_nodes=0, tres_per_job="gres/gpu:3"), "--gpus"),
    ],
)
def test_what_no_virtual_node_can_hold_is_refused(record: Job, option: str) -> None:
    assert refusal(record, node_shape=BATCH).option == option


@pytest.mark.parametrize(
    ("record", "option"),
    [
        (job(nodes=2, tres_per_job="gres/gpu:5", tres_per_node="gres/gpu:2"), "--gpus"),
        (job(tasks=2, tres_per_node="gres/gpu:2", tres_per_task="gres/gpu:a100=1"), "--gpus-per-task"),
        (job(nodes=2, tasks=6, tasks_per_node=3, tres_per_job="gres/gpu:3"), "--gpus"),
        (job(nodes=2, tasks=4, tasks_per_node=3, tres_per_job="gres/gpu:3"), "--gpus"),
        (job(max_nodes=3, tasks=9, tasks_per_node=4, tres_per_job="gres/gpu:3"), "--ntasks-per-node"),
        (job(tres_per_node="gres/gpu:a:b:1"), "--gres"),
        (job(tres_per_task="license/x=1"), "--gpus-per-task"),
        (job(cpus_per_tres="gres/fpga:2"), "--cpus-per-gpu"),
        (job(memory_per_tres="gres/gpu:1,gres/fpga:1"), "--mem-per-gpu"),
    ],
)
def test_contradictions_and_unknown_words_are_refused_by_name(record: Job, option: str) -> None:
    assert refusal(record).option == option


def test_a_node_has_room_for_as_many_tasks_as_it_may_run() -> None:
    """slurmctld takes no node with less, however few tasks there are."""
    assert laid_out(job(tasks=3, max_nodes=0, tasks_per_node=2)) == [(2, 2, 2, 0)]
    assert gres(job(tasks=3, max_nodes=0, tasks_per_node=2, tres_per_task="gres/gpu=1")) == [
        (2, (("gpu", "", 2),))
    ]


def test_cpus_of_a_node_are_counted_in_whole_tasks_where_the_record_tells_of_tasks() -> None:
    assert laid_out(job(cpus=3, cpus_per_task=3, min_cpus_per_node=4))[0][2] == 6
    assert laid_out(job(cpus=3, cpus_per_task=None, min_cpus_per_node=4))[0][2] == 4


def test_a_gres_is_named_once_or_twice_with_the_same_count() -> None:
    assert gres(job(tres_per_node="gres/gpu:2,gres/gpu:2")) == [(1, (("gpu", "", 2),))]
    assert refusal(job(tres_per_node="gres/gpu:4,gres/gpu:2")).option == "--gres"


def test_a_whole_node_has_no_more_gpus_than_cpus_for_them() -> None:
    record = job(tres_per_node="gres/gpu:1", cpus_per_tres="gres/gpu:20", exclusive="none")
    assert gres(record, node_shape=BATCH) == [(1, (("gpu", "", 1),))]


@pytest.mark.parametrize(
    ("record", "option"),
    [
        (job(tasks=2, tasks_per_node=2, min_cpus_per_node=5), "--mincpus"),
        (job(cpus=2, cpus_per_task=2, tasks_per_node=2), "--ntasks-per-node"),
        (job(tasks=2, min_cpus_per_node=4, tres_per_task="gres/gpu=1"), "--mincpus"),
        (job(min_cpus_per_node=2, tres_per_job="gres/gpu:2"), "--mincpus"),
        (
            job(tasks=4, tasks_per_node=2, tres_per_node="gres/gpu:2", tres_per_task="gres/gpu=1"),
            "--gpus-per-task",
        ),
        (job(tasks=2, tasks_per_node=3, max_nodes=2, tres_per_task="gres/gpu=1"), "--ntasks-per-node"),
        (job(nodes=2, tasks=3, tasks_per_node=3, tres_per_job="gres/gpu:2"), "--ntasks-per-node"),
        (
            job(tasks=2, cpus=2, cpus_per_task=2, tres_per_job="gres/gpu:2", tres_per_task="gres/gpu=1"),
            "--gpus-per-task",
        ),
        (job(nodes=2, tasks=2, cpus=4, cpus_per_task=2, min_cpus_per_node=5), "--mincpus"),
        (job(tasks=2, tres_per_node="gres/gpu:1", cpus_per_tres="gres/gpu:1"), "--cpus-per-gpu"),
        (job(cpus_per_tres="gres/gpu:1"), "--cpus-per-gpu"),
        (job(nodes=2, tasks=1, tres_per_job="gres/gpu:2", tres_per_node="gres/gpu:1"), "--gpus"),
    ],
)
def test_what_slurm_accepts_and_never_starts_is_refused(record: Job, option: str) -> None:
    assert refusal(record).option == option


def test_nodes_of_more_cpus_than_a_task_are_had_with_a_number_of_tasks_or_a_multiple() -> None:
    two = {"nodes": 2, "tasks": 2, "cpus": 4, "cpus_per_task": 2}
    asked = job(**two, min_cpus_per_node=5, flags=frozenset({TASKS_ASKED}))
    assert laid_out(asked) == laid_out(job(**two, min_cpus_per_node=6)) == [(2, 1, 6, 0)]


def test_features_are_kept_in_order_without_our_own_pin() -> None:
    def features(text: str) -> tuple[str, ...]:
        layout = plan(job(features=text), node_shape=None, exclusive=Exclusive.AS_ASKED)
        assert isinstance(layout, Layout)
        return layout.features

    assert features("") == features("nodes-for-7") == ()
    assert features("b&a&b") == features("(b&a)&nodes-for-7") == ("b", "a")


@pytest.mark.parametrize("text", ["a|b", "[a|b]", "a*2", "(a&b)", "a,b", "a&", "a b", 'a"b'])
def test_other_constraints_are_refused(text: str) -> None:
    assert refusal(job(features=text)).option == "--constraint"


def test_time_limit_goes_along() -> None:
    layout = plan(job(time_limit=90), node_shape=None, exclusive=Exclusive.AS_ASKED)
    assert isinstance(layout, Layout)
    assert layout.time_limit == 90


def test_the_digest_changes_with_what_is_needed_and_with_nothing_else() -> None:
    def of(record: Job) -> str:
        layout = plan(record, node_shape=None, exclusive=Exclusive.AS_ASKED)
        assert isinstance(layout, Layout)
        return digest(layout)

    same = of(job(name="a", priority=5, comment="x"))
    assert same == of(job()) == of(job(features="nodes-for-7", node_count=3)) == of(job(time_limit=1))
    others = [
        job(tasks=2),
        job(memory_per_node=1),
        job(features="a"),
        job(exclusive="none"),
    ]
    assert len({same, *map(of, others)}) == len(others) + 1


def test_tasks_stay_with_gpus_as_many_as_there_is_room_for():
    """24.11 counts --ntasks-per-node tasks on each node, and 9 are no multiple of 4 GPUs; 22.05 counts 8."""
    options = {"nodes": 3, "tasks": 8, "tasks_per_node": 3, "tres_per_job": "gres/gpu:4", "max_nodes": 0}
    assert laid_out(job(**options)) == [(1, 3, 3, 0), (2, 3, 3, 0)]
    old = plan(job(**options, cpus_per_task=None), node_shape=None, exclusive=Exclusive.AS_ASKED)
    assert isinstance(old, Refusal)
