"""What slurmrestd's error numbers amount to."""

from __future__ import annotations

import pytest

from k8s_bridge.core.errors import Conflict, Missing, Retry, Terminal
from k8s_bridge.slurm.client.errors import by_number


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (11, Retry),
        (1800, Retry),
        (2016, Retry),
        (2017, Missing),
        (2029, Conflict),
        (2042, Conflict),
        (1007, Terminal),
    ],
)
def test_a_number_decides_what_is_done_next(number, kind):
    assert type(by_number("text", number=number)) is kind


def test_a_bad_token_is_named():
    error = by_number("text", number=1007)
    assert isinstance(error, Terminal)
    assert error.reason == "TokenInvalid"


def test_an_unknown_number_decides_nothing():
    assert by_number("text", number=424242) is None
