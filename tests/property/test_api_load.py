from __future__ import annotations

import copy
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from api.load import load_file, parse_workloadmixing
from api.problems import InvalidWorkloadMixing, Problem
from api.v1alpha1 import WorkloadMixing

TEXT = (Path(__file__).parents[1] / "fixtures" / "workloadmixing" / "everything.yaml").read_text("utf-8")
SAMPLE = yaml.safe_load(TEXT)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything below `node`."""
    steps = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [found for step, inner in steps for found in [(*path, step), *places(inner, (*path, step))]]


def changed(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    data = copy.deepcopy(SAMPLE)
    node = data
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    return data


SPEC_PLACES = [path for path in places(SAMPLE) if path[0] == "spec"]


def outcome(data: dict[str, Any]) -> WorkloadMixing | tuple[Problem, ...]:
    """What was understood, or all that was wrong."""
    try:
        return parse_workloadmixing(data)
    except InvalidWorkloadMixing as error:
        return error.problems


@given(st.sampled_from(SPEC_PLACES), JSON)
def test_any_change_is_either_understood_or_explained(path, value):
    match outcome(changed(path, value)):
        case WorkloadMixing() as mixing:
            assert parse_workloadmixing(mixing.document()) == mixing
        case problems:
            assert problems
            assert all(problem.path.startswith("spec") for problem in problems)
            assert all(problem.why and problem.fix for problem in problems)


@given(st.lists(st.sampled_from(SPEC_PLACES), min_size=1, max_size=6, unique=True))
def test_every_broken_place_is_reported_in_one_go(paths):
    """An object in place of anything but an object is wrong everywhere; outermost places hide inner ones."""
    leaves = [
        path for path in paths if not isinstance(value_at(path), dict | list) and "podTemplate" not in path
    ]
    data = copy.deepcopy(SAMPLE)
    for path in leaves:
        node = data
        for step in path[:-1]:
            node = node[step]
        node[path[-1]] = {"not": "this"}
    assume(leaves)
    problems = outcome(data)
    assert isinstance(problems, tuple)
    assert {spelled(path) for path in leaves} <= {problem.path for problem in problems}


def value_at(path: tuple[Any, ...]) -> Any:
    node: Any = SAMPLE
    for step in path:
        node = node[step]
    return node


def spelled(path: tuple[Any, ...]) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


@given(
    st.integers(0, len(TEXT) - 1), st.text(alphabet=":-[]{}&*!|>?%@`\"'#\t\n\r ~0ax\x85\ufeff", max_size=4)
)
@example(0, "\ufeff")
@example(0, "%YAML 9.9\n---\n")
def test_no_text_breaks_the_reader(position, insertion):
    with suppress(InvalidWorkloadMixing):
        load_file(TEXT[:position] + insertion + TEXT[position:])


@given(st.text(max_size=40))
def test_not_even_noise(text):
    with suppress(InvalidWorkloadMixing):
        load_file(text)
