from __future__ import annotations

import pytest

from k8s_bridge.slurm.script import counts, values


@pytest.mark.parametrize(
    ("text", "mib"),
    [("4", 4), ("4K", 1), ("1025k", 2), ("4M", 4), ("4G", 4096), ("4gb", 4096), ("1T", 2**20), ("0", 0)],
)
def test_memory(text, mib):
    assert values.memory(text) == (mib,)


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5G", "4Gi", "4X", "G"])
def test_what_is_no_memory(text):
    with pytest.raises(ValueError, match="amount of memory"):
        values.memory(text)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("5", 5),
        ("0:30", 1),
        ("5:00", 5),
        ("5:01", 6),
        ("1:2:3", 63),
        ("1-2", 1560),
        ("1-2:3", 1563),
        ("1-2:3:4", 1564),
        ("1-", 1440),
        ("0", None),
        ("-1", None),
        ("UNLIMITED", None),
        ("infinite", None),
    ],
)
def test_times(text, minutes):
    assert values.minutes(text) == (minutes,)


@pytest.mark.parametrize("text", ["", "abc", "5:", "1-2-3", "1:2:3:4", "1h", "1-:5"])
def test_what_is_no_time(text):
    with pytest.raises(ValueError, match="is not a time"):
        values.minutes(text)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("2", 2, 2),
        ("2-4", 2, 4),
        ("-4", 1, 4),
        ("2k", 2048, 2048),
        ("1k-1m", 1024, 2**20),
        ("0", 0, 0),
        ("1,4,8", 1, 8),
        ("1,4-6", 1, 6),
        ("2-8:2", 2, 6),
        ("2-9:3", 2, 8),
    ],
)
def test_nodes(text, least, most):
    assert counts.nodes(text) == (True, least, most)


@pytest.mark.parametrize("text", ["", "x", "2-1", "2-", "3,5-9:2", "2-2:1", "2-9:0", "5000m"])
def test_what_is_no_number_of_nodes(text):
    with pytest.raises(ValueError, match=r"number of nodes|below|list of node counts"):
        counts.nodes(text)


@pytest.mark.parametrize(
    ("text", "kept"), [("1-10", "1-10"), ("0-6:2%3", "0-6:2%3"), ("1,5%0", "1,5"), ("", "")]
)
def test_arrays(text, kept):
    assert counts.array(text) == (kept,)


@pytest.mark.parametrize("text", ["x", "3-1", "1-", "1%", "1-3:0", "1%2,3"])
def test_what_is_no_array(text):
    with pytest.raises(ValueError, match=r"task ids|below"):
        counts.array(text)


@pytest.mark.parametrize("text", ["0", "-1", "x", "", "4.0", "2147483647", "4 "])
def test_counts_are_whole_numbers_above_zero(text):
    with pytest.raises(ValueError, match=r"whole number|too large"):
        values.positive(text)


def test_sockets_cores_and_threads_can_be_left_open():
    assert counts.sockets("2:*:1") == (True, 2, None, 1)
    assert counts.sockets("2-4") == (True, 2, None, None)
    with pytest.raises(ValueError, match="SOCKETS"):
        counts.sockets("1:2:3:4")


def test_gres_is_spelled_as_the_record_spells_it():
    assert values.gres("gpu:2,gres/fpga") == ("gres/gpu:2,gres/fpga",)
    assert values.gres("NONE") == ("",)
    with pytest.raises(ValueError, match="prints a list"):
        values.gres("help")
