from __future__ import annotations

import pytest

from k8s_bridge.core.quantity import number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2),
        (2, 2),
        ("500m", 0.5),
        ("1.5", 1.5),
        ("64Gi", 64 * 2**30),
        ("3k", 3000),
        ("1e3", 1000),
        ("0", 0),
    ],
)
def test_quantities_are_numbers(text, value):
    assert number(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "Gi", "1 Gi", "two", "1GiB"])
def test_what_is_none_is_refused(text):
    with pytest.raises(ValueError, match="is not a quantity"):
        number(text)
