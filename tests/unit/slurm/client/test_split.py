from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8s_bridge.slurm.client.split import DEPTH, Malformed, Splitter

CAP = 1 << 20

leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)
frames = st.dictionaries(st.text().filter(lambda key: key != "jobs"), values, max_size=4)
layouts = st.sampled_from(
    [{"separators": (",", ":")}, {"indent": 1}, {"indent": "\t"}, {"ensure_ascii": False}]
)
EVIL = '"}],{[\\" \\\\" \\u005d "jobs": ['


def split(body: bytes, *, size: int, cap: int = CAP) -> tuple[list[bytes], bytes]:
    splitter = Splitter("jobs", cap=cap)
    items: list[bytes] = []
    for start in range(0, len(body), size):
        items += splitter.feed(body[start : start + size])
    last, frame = splitter.finish()
    return items + last, frame


@given(frames, st.lists(values), frames, layouts, st.integers(1, 64))
def test_items_and_frame_are_what_json_says(before, items, after, layout, size) -> None:
    whole = {**before, "jobs": items, **{k: v for k, v in after.items() if k not in before}}
    found, frame = split(json.dumps(whole, **layout).encode("utf-8", "surrogatepass"), size=size)
    expected = {key: value for key, value in whole.items() if key != "jobs"}
    assert [json.loads(item) for item in found] == items
    assert json.loads(frame) == expected


@given(frames, layouts, st.integers(1, 64))
def test_without_the_array_everything_is_frame(frame, layout, size) -> None:
    body = json.dumps(frame, **layout).encode("utf-8", "surrogatepass")
    assert json.loads(split(body, size=size)[1]) == frame
    assert split(body, size=size)[0] == []


@given(st.lists(values, min_size=1), st.data())
def test_a_body_that_breaks_off_is_never_taken_for_a_whole_one(items, data) -> None:
    body = json.dumps({"errors": [], "jobs": items}).encode()
    end = data.draw(st.integers(0, len(body) - 1))
    with pytest.raises(Malformed):
        split(body[:end], size=7)


@given(st.binary(max_size=200), st.integers(1, 16))
def test_garbage_is_malformed_or_harmless(body, size) -> None:
    try:
        split(body, size=size)
    except Malformed:
        return
    assert body.strip().startswith(b"{")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
def test_brackets_quotes_and_keys_inside_strings_do_not_count(size) -> None:
    whole = {"note": EVIL, "jobs": [{"name": EVIL, EVIL: [EVIL]}, EVIL], "meta": {"jobs": [1]}}
    items, frame = split(json.dumps(whole).encode(), size=size)
    assert [json.loads(item) for item in items] == whole["jobs"]
    assert json.loads(frame) == {"note": EVIL, "meta": {"jobs": [1]}}


def test_an_item_above_the_cap_is_refused_before_it_is_complete() -> None:
    with pytest.raises(Malformed, match="more than 1000"):
        split(b'{"jobs": [{"name": "' + b"x" * 5000, size=50, cap=1000)


def test_an_item_that_nests_too_deep_is_refused() -> None:
    deep = b'{"jobs": [' + b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1) + b"]}"
    with pytest.raises(Malformed):
        split(deep, size=100)
    assert len(split(b'{"jobs": [' + b"[" * DEPTH + b"]" * DEPTH + b"]}", size=100)[0]) == 1


def test_a_large_answer_takes_time_in_proportion_to_its_size() -> None:
    job = json.dumps({f"field_{n}": {"set": True, "number": n} for n in range(150)})
    small, large = (f'{{"jobs": [{",".join([job] * count)}]}}'.encode() for count in (100, 1600))
    took = []
    for body in (small, large):
        started = time.perf_counter()
        split(body, size=65_536)
        took.append(time.perf_counter() - started)
    assert took[1] < took[0] * 16 * 4
    assert len(large) / took[1] > 10e6


def test_one_huge_item_in_small_pieces_is_not_searched_again_and_again() -> None:
    body = b'{"jobs": [{"x": "' + b"y" * 4_000_000 + b'"}]}'
    started = time.perf_counter()
    assert len(split(body, size=4096, cap=8 << 20)[0]) == 1
    assert time.perf_counter() - started < 5
