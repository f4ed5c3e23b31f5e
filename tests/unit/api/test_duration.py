from __future__ import annotations

from datetime import timedelta

import pytest

from api.v1alpha1 import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("0s", 0),
        ("10s", 10),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("7d", 604_800),
        ("1d12h", 129_600),
        ("1m1h", 3660),
        ("1500ms", 1.5),
        ("250us", 0.00025),
        ("250µs", 0.00025),
        ("1500000000ns", 1.5),
        ("1999ns", 0.000001),
    ],
)
def test_reads_gos_form_and_days(text, seconds):
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "must not be empty"),
        ("10", "has no unit"),
        ("1.5", "has no unit"),
        ("-5s", "carries a sign"),
        ("+5s", "carries a sign"),
        ("5 s", "is not a duration"),
        ("5S", "is not a duration"),
        ("s", "is not a duration"),
        ("5s\n", "is not a duration"),
        ("\u0665s", "is not a duration"),
        ("1w", "is not a duration"),
        ("1.5d", "whole days, once and first"),
        ("1h2d", "whole days, once and first"),
        ("1d2d", "whole days, once and first"),
        ("9999999d", "longer than 36500d"),
        ("1" * 40 + "s", "at most 32 characters"),
    ],
)
def test_says_what_is_wrong(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_duration(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (timedelta(), "0s"),
        (timedelta(days=7), "7d"),
        (timedelta(hours=1, minutes=30), "1h30m"),
        (timedelta(seconds=10, milliseconds=5, microseconds=7), "10s5ms7us"),
    ],
)
def test_writes_the_usual_form(value, text):
    assert format_duration(value) == text


def test_a_negative_length_has_no_text():
    with pytest.raises(ValueError, match="never negative"):
        format_duration(timedelta(seconds=-1))
