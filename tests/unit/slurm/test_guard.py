"""Mass actions are refused until they have been plausible for a while."""

from __future__ import annotations

import pytest

from k8s_bridge.slurm.guard import PATIENCE, Guard
from k8s_bridge.slurm.unit import Deletion


@pytest.mark.parametrize(
    ("gone", "owned", "verdict"),
    [
        (0, 0, Deletion.ALLOWED),
        (2, 2, Deletion.ALLOWED),
        (3, 6, Deletion.ALLOWED),
        (3, 5, Deletion.REFUSED),
        (40, 40, Deletion.REFUSED),
    ],
)
def test_more_than_half_and_at_least_three(gone, owned, verdict):
    assert Guard().judge(gone=gone, owned=owned, now=0) is verdict


def test_it_is_believed_after_a_while_of_the_same_answer():
    guard = Guard()
    assert guard.judge(gone=9, owned=9, now=0) is Deletion.REFUSED
    assert guard.judge(gone=9, owned=9, now=PATIENCE - 1) is Deletion.REFUSED
    assert guard.judge(gone=9, owned=9, now=PATIENCE) is Deletion.ALLOWED


def test_the_clock_starts_again_when_the_jobs_were_back_in_between():
    guard = Guard()
    guard.judge(gone=9, owned=9, now=0)
    guard.judge(gone=0, owned=9, now=PATIENCE - 1)
    assert guard.judge(gone=9, owned=9, now=PATIENCE) is Deletion.REFUSED
