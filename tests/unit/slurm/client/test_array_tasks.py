from __future__ import annotations

import pytest

from k8s_bridge.slurm.client.array_tasks import listed_tasks


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("5", 1),
        ("0-999", 1000),
        ("0-999:3%7", 334),
        ("0,2,4-6%3", 5),
        ("0,8,18,25,29,35,43,53,60,64,70,78,88,95,99,105,113,123,130,1...%3", 19),
    ],
)
def test_the_tasks_of_a_list_are_counted_and_of_a_cut_one_those_that_are_certain(text: str, count: int):
    assert listed_tasks(text) == count
