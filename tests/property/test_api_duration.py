from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from api.v1alpha1.duration import MAX_LENGTH, PATTERN, format_duration, parse_duration
from api.v1alpha1.quantity import PATTERN as MEMORY_PATTERN
from api.v1alpha1.quantity import format_memory, parse_memory

UNITS = {"h": 3600, "m": 60, "s": 1, "ms": Fraction(1, 1000), "us": Fraction(1, 10**6)}
LENGTHS = st.timedeltas(min_value=timedelta(), max_value=timedelta(days=36_500))
PARTS = st.tuples(st.integers(0, 999), st.integers(0, 99), st.sampled_from(list(UNITS)))
ALMOST = st.text(alphabet="0123456789.dhmsunµ+- \n", max_size=MAX_LENGTH + 4)


@given(LENGTHS)
def test_every_length_survives_its_text(length):
    assert parse_duration(format_duration(length)) == length


@given(st.integers(0, 999), st.lists(PARTS, min_size=1, max_size=3))
def test_the_value_is_the_exact_sum_of_the_parts(days, parts):
    text = f"{days}d" + "".join(f"{whole}.{hundredths:02}{unit}" for whole, hundredths, unit in parts)
    seconds = days * 86_400 + sum((whole + Fraction(rest, 100)) * UNITS[unit] for whole, rest, unit in parts)
    assert parse_duration(text) // timedelta(microseconds=1) == int(seconds * 10**6)


@given(ALMOST)
def test_the_api_server_and_the_parser_take_the_same_texts(text):
    # "\Z", because "$" in RE2 is the end of the text and nothing else.
    admitted = re.search(PATTERN.replace("$", r"\Z"), text) is not None and len(text) <= MAX_LENGTH
    try:
        parse_duration(text)
        read = True
    except ValueError as error:
        read = "longer than" in str(error)
    assert read is admitted


@given(st.integers(0, 2**40))
def test_every_size_survives_its_text(mebibytes):
    assert parse_memory(format_memory(mebibytes)) == mebibytes


@given(st.text(alphabet="0123456789.KMGTPki \n", max_size=10))
def test_the_api_server_and_the_parser_take_the_same_sizes(text):
    admitted = re.search(MEMORY_PATTERN.replace("$", r"\Z"), text) is not None
    try:
        parse_memory(text)
        read = True
    except ValueError as error:
        read = "less than 1Mi" in str(error)
    assert read is admitted
