from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8s_bridge.slurm.hostlist import MAX_NAMES, expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        ("a", ("a",)),
        ("a,b", ("a", "b")),
        ("w-[1,3-4,2]", ("w-1", "w-3", "w-4", "w-2")),
        ("gpu[08-11],x", ("gpu08", "gpu09", "gpu10", "gpu11", "x")),
        ("r[1-2]n[1-2]", ("r1n1", "r1n2", "r2n1", "r2n2")),
        ("slurm-job-7-w-0-[0-1]-ab", ("slurm-job-7-w-0-0-ab", "slurm-job-7-w-0-1-ab")),
        ("n[10]", ("n10",)),
    ],
)
def test_names_come_in_the_order_of_the_list(text, names) -> None:
    assert expand(text) == names


@pytest.mark.parametrize("text", ["a,", ",a", "a[", "a]", "a[1", "a[]", "a[1-]", "a[2-1]", "a[x]", "a[[1]]"])
def test_malformed_lists_are_refused(text) -> None:
    with pytest.raises(ValueError):
        expand(text)


@pytest.mark.parametrize("text", ["a[0-99999999]", "a[0-60000]b[0-9]", "a[0-9999],b[0-60000]"])
def test_lists_that_are_too_long_are_refused_and_not_cut(text) -> None:
    with pytest.raises(ValueError):
        expand(text)
    assert len(expand(f"a[1-{MAX_NAMES}]")) == MAX_NAMES


@given(st.lists(st.integers(0, 2000), min_size=1, max_size=50, unique=True), st.integers(1, 5))
def test_every_number_is_found_with_its_zeros(numbers, width) -> None:
    inside = ",".join(str(number).zfill(width) for number in numbers)
    assert expand(f"n-[{inside}]") == tuple(f"n-{str(number).zfill(width)}" for number in numbers)
