from __future__ import annotations

import pytest

from api.v1alpha1.quantity import format_memory, parse_memory


@pytest.mark.parametrize(
    ("text", "mebibytes"),
    [("0", 0), ("512Mi", 512), ("64Gi", 65_536), ("1.5Gi", 1536), ("1500M", 1430), ("1073741824", 1024)],
)
def test_reads_quantities_as_whole_mebibytes(text, mebibytes):
    assert parse_memory(text) == mebibytes


def test_a_number_that_was_meant_as_mebibytes_is_refused_not_rounded_to_nothing():
    with pytest.raises(ValueError, match="less than 1Mi"):
        parse_memory("4096")


@pytest.mark.parametrize("text", ["", "-1Mi", "1 Gi", "1gi", "1GiB", "1e9", "Gi", "9" * 40])
def test_refuses_what_is_no_quantity(text):
    with pytest.raises(ValueError, match="not a memory size"):
        parse_memory(text)


@pytest.mark.parametrize(("mebibytes", "text"), [(0, "0Mi"), (1024, "1Gi"), (1536, "1536Mi")])
def test_writes_the_usual_form(mebibytes, text):
    assert format_memory(mebibytes) == text
    assert parse_memory(text) == mebibytes
