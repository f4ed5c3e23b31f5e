"""When a job that a limit keeps back is tried again before its pause is over."""

from __future__ import annotations

import pytest

from k8s_bridge.kube.store import Delta
from k8s_bridge.slurm.eligibility import limit_of
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.relief import Relief
from k8s_bridge.slurm.unit import Key, Retry, Slot

PENDING, RUNNING, OVER = (frozenset({state}) for state in ("PENDING", "RUNNING", "COMPLETED"))


def job(job_id: int, *, user: int = 1, account: str = "lab", qos: str = "normal") -> Job:
    return Job(job_id=job_id, user_id=user, account=account, qos=qos, partition="batch", states=PENDING)


def kept(*jobs: Job, reason: str = "AssocMaxJobsLimit") -> Relief:
    relief = Relief()
    for one in jobs:
        relief.keep(one.job_id, limit_of(reason, one))
    return relief


def change(relief: Relief, one: Job, *, old: frozenset[str], new: frozenset[str]) -> list[Key]:
    before, after = (Job(job_id=one.job_id, user_id=one.user_id, account=one.account, qos=one.qos,
                         partition="batch", states=states) for states in (old, new))  # fmt: skip
    return list(relief.changed(Delta(key=str(one.job_id), old=before, new=after)))


def ends(relief: Relief, one: Job) -> list[Key]:
    return change(relief, one, old=RUNNING, new=OVER)


def starts(relief: Relief, one: Job) -> list[Key]:
    return change(relief, one, old=PENDING, new=RUNNING)


def test_the_end_of_a_job_lets_the_oldest_go_on_and_the_next_end_the_next():
    relief = kept(job(5), job(4))
    assert [relief.retry(key) for key in (4, 5)] == [Retry.SOON, Retry.LATER]
    assert ends(relief, job(1)) == [4]
    assert [relief.retry(key) for key in (4, 5)] == [Retry.NOW, Retry.SOON]
    assert ends(relief, job(2)) == [5]
    assert ends(relief, job(3)) == []


@pytest.mark.parametrize(
    ("reason", "other", "relieved"),
    [
        ("AssocMaxJobsLimit", job(1, user=2), False),
        ("AssocMaxJobsLimit", job(1, account="else", qos="else"), True),
        ("QOSMaxJobsPerUserLimit", job(1, user=2), False),
        ("AssocGrpCpuLimit", job(1, user=2, qos="else"), True),
        ("AssocGrpCpuLimit", job(1, account="else"), False),
        ("QOSGrpCpuLimit", job(1, user=2, account="else"), True),
        ("QOSGrpCpuLimit", job(1, qos="else"), False),
        ("QOSMaxJobsPerAccountLimit", job(1, user=2), True),
        ("QOSMaxCpuPerJobLimit", job(1), False),
        ("ImagePullBackOff", job(1), False),
    ],
)
def test_only_what_a_limit_counts_makes_room_under_it(reason: str, other: Job, relieved: bool):
    assert bool(ends(kept(job(4), reason=reason), other)) is relieved


def test_a_job_that_waited_and_is_cancelled_makes_no_room():
    assert change(kept(job(4)), job(1), old=PENDING, new=OVER) == []


def test_when_the_first_one_starts_by_itself_the_limit_was_raised_and_the_next_is_looked_at():
    relief = kept(job(4), job(5))
    relief.leave(4)
    assert starts(relief, job(4)) == [5]
    assert relief.retry(5) is Retry.SOON


def test_one_that_took_the_place_of_another_says_nothing_of_the_limit():
    relief = kept(job(4), job(5))
    ends(relief, job(1))
    relief.leave(4)
    assert starts(relief, job(4)) == []


def test_a_slot_of_an_array_is_kept_back_like_a_job():
    relief = Relief()
    relief.keep(Slot(4, 1), limit_of("AssocGrpCpuLimit", job(4)))
    assert ends(relief, job(1)) == [Slot(4, 1)]
    relief.forget(Slot(4, 1))
    assert relief.retry(Slot(4, 1)) is Retry.LATER
