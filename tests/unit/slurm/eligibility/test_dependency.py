"""Dependencies are judged as slurmctld judges them (tests/slurm/test_eligibility_real.py asks it)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8s_bridge.slurm.eligibility import NOTHING, Surroundings
from k8s_bridge.slurm.eligibility.dependency import Fate, judge, predecessors, rival, terms
from k8s_bridge.slurm.model import Job

NOW = 10_000.0
PENDING, RUNNING, COMPLETED, FAILED, CANCELLED = "PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"


def job(job_id: int = 9, dependency: str = "", **fields) -> Job:
    states = frozenset(fields.pop("states", {PENDING}))
    return Job(job_id=job_id, dependency=dependency, states=states, name="x", user_id=7, **fields)


def fate(dependency: str, *before: Job, **more) -> Fate:
    surroundings = Surroundings(predecessors={one.job_id: one for one in before}, **more)
    return judge(job(dependency=dependency), surroundings, NOW)[0]


@pytest.mark.parametrize(
    ("kind", "states", "expected"),
    [
        ("after", {PENDING}, Fate.WAITS),
        ("after", {RUNNING}, Fate.MET),
        ("after", {CANCELLED}, Fate.MET),
        ("afterany", {RUNNING}, Fate.WAITS),
        ("afterany", {FAILED}, Fate.MET),
        ("afterany", {FAILED, "COMPLETING"}, Fate.WAITS),
        ("afterok", {PENDING}, Fate.WAITS),
        ("afterok", {COMPLETED}, Fate.MET),
        ("afterok", {CANCELLED}, Fate.NEVER),
        ("afternotok", {RUNNING}, Fate.WAITS),
        ("afternotok", {COMPLETED}, Fate.NEVER),
        ("afternotok", {FAILED}, Fate.MET),
        ("aftercorr", {COMPLETED}, Fate.WAITS),
        ("afterburstbuffer", {COMPLETED}, Fate.WAITS),
    ],
)
def test_each_kind(kind, states, expected):
    assert fate(f"{kind}:5(unfulfilled)", job(5, states=states)) is expected


def test_a_requeued_predecessor_is_waited_for_again():
    assert fate("afterok:5(unfulfilled)", job(5, states={PENDING}, restart_count=1)) is Fate.WAITS


def test_a_delay_counts_from_the_start():
    late, due = (job(5, states={RUNNING}, start_time=int(NOW) - age) for age in (60, 120))
    assert fate("after:5+2(unfulfilled)", late) is Fate.WAITS
    assert fate("after:5+2(unfulfilled)", due) is Fate.MET


def test_slurmctlds_own_verdict_and_what_only_it_can_judge():
    assert fate("afterok:5(failed)", job(5, states={RUNNING})) is Fate.NEVER
    assert fate("afterok:5(unfulfilled)") is Fate.WAITS, "it may have been purged"
    assert fate("afterok:5_*(unfulfilled)", job(5, states={COMPLETED})) is Fate.WAITS
    assert fate("something:new") is Fate.WAITS


def test_a_comma_asks_for_all_and_a_question_mark_for_any():
    good, bad, runs = job(1, states={COMPLETED}), job(2, states={FAILED}), job(3, states={RUNNING})
    assert fate("afterok:1(unfulfilled),afterok:3(unfulfilled)", good, runs) is Fate.WAITS
    assert fate("afterok:2(unfulfilled),afterok:3(unfulfilled)", bad, runs) is Fate.NEVER
    assert fate("afterok:1(unfulfilled)?afterok:3(unfulfilled)", good, runs) is Fate.MET
    assert fate("afterok:2(unfulfilled)?afterok:3(unfulfilled)", bad, runs) is Fate.WAITS
    assert fate("afterok:2(unfulfilled)?afterok:2(unfulfilled)", bad) is Fate.NEVER


def test_people_are_told_which_job_and_that_it_is_hopeless():
    said = judge(
        job(dependency="afterok:5(unfulfilled),afterany:6(unfulfilled)"),
        Surroundings(predecessors={5: job(5, states={FAILED}), 6: job(6, states={RUNNING})}),
        NOW,
    )
    assert said == (
        Fate.NEVER,
        "its dependency can never be met: afterok:5 (job 5 is FAILED); change it or cancel the job",
    )
    assert judge(job(dependency="afterok:5_*(unfulfilled)"), NOTHING, NOW)[1] == (
        "waits for its dependency afterok:5_*"
    )


@pytest.mark.parametrize(
    ("other", "goes_before"),
    [
        (job(8), True),
        (job(10), False),
        (job(9), False),
        (job(10, states={RUNNING}), True),
        (job(8, states={COMPLETED}), False),
        (job(8, states={COMPLETED, "COMPLETING"}), True),
        (job(10, states={"SUSPENDED"}), True),
    ],
)
def test_jobs_of_one_name_run_singly_in_the_order_of_their_ids(other, goes_before):
    found = rival(job(9), [other])
    assert (found is not None) is goes_before
    verdict = fate("singleton(unfulfilled)", rival=found)
    assert verdict is (Fate.WAITS if goes_before else Fate.MET)


def test_tasks_of_one_array_are_no_rivals():
    array, task = job(9, array_job_id=9), job(10, array_job_id=9, array_task_id=0, states={RUNNING})
    assert rival(array, [array, task]) is None


def test_the_jobs_that_are_named():
    assert predecessors("afterok:5(unfulfilled),after:6+3(unfulfilled)?singleton(unfulfilled)") == (5, 6)
    assert predecessors("") == ()


@given(st.text(alphabet="afterokny:,?()_*+0123456789singleton ", max_size=60))
def test_no_text_breaks_the_reader(text):
    terms(text)
    assert judge(job(dependency=text or "x"), NOTHING, NOW)[1]
