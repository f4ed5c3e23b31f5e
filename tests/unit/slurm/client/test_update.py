from __future__ import annotations

import pytest

from k8s_bridge.slurm.client import AT_ONCE, Hold, JobUpdate
from k8s_bridge.slurm.client.update import body_of, made
from k8s_bridge.slurm.client.versions import BY_NAME, PREFERRED
from k8s_bridge.slurm.model import Job

SHOWN = Job(job_id=1, held=True, features="a", comment="c", required_nodes="n-[1-2]", time_limit=5)


def test_nothing_set_is_nothing_sent() -> None:
    assert [body_of(JobUpdate(), api=api) for api in PREFERRED] == [{}] * len(PREFERRED)


@pytest.mark.parametrize("moment", [0, AT_ONCE])
def test_at_once_is_never_zero_since_slurm_reads_zero_as_no_change(moment) -> None:
    update = JobUpdate(begin_time=moment)
    assert body_of(update, api=BY_NAME["v0.0.42"])["begin_time"]["number"] == 1
    assert body_of(update, api=BY_NAME["v0.0.38"]) == {"begin_time": "now"}


@pytest.mark.parametrize(
    ("update", "shown"),
    [
        (JobUpdate(), True),
        (JobUpdate(hold=Hold.TAKE, constraints="a", comment="c", time_limit=5), True),
        (JobUpdate(required_nodes=("n-2", "n-1")), True),
        (JobUpdate(hold=Hold.RELEASE), False),
        (JobUpdate(constraints=""), False),
        (JobUpdate(comment="other"), False),
        (JobUpdate(admin_comment="text"), False),
        (JobUpdate(required_nodes=()), False),
        (JobUpdate(time_limit=6), False),
        (JobUpdate(partition="p"), False),
    ],
)
def test_a_change_was_made_when_the_job_shows_all_of_it(update, shown) -> None:
    assert made(update, job=SHOWN) is shown
