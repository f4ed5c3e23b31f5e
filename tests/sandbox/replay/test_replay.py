"""The sandbox shows what the real Kueue, JobSet, Job controller and kubelet showed, in 29 recorded scenarios.

Each step of a recording is done to the sandbox at the recorded time (virtual time, real delays). What is kept
of the two streams, and what is dropped, stands in stream.py. Two sequences of states are equal, or one of
them goes further within the last half second of the recording, where it was cut.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from sandbox.replay.stream import Entry, Told, read
from sandbox.replay.world import recording, replay
from support.virtual import run_virtually

NUMBERS = [f"{n:02}" for n in range(1, 30)]
CUT = 0.5
SHORT = {"21": 3}  # a RayJob that is refused at once

# In 29 the node that died also ran the JobSet webhook, so no replacement pod could be created while the
# recording lasted. The sandbox has no such webhook: it goes on as Kubernetes does, with a replacement.
BEYOND = {
    "29": ("job/a-w-0#1 state", "pod/a-w-0-0#2 life", "pod/a-w-0-0#2 deletion"),
}
ONLY_RECORDED = {"24": "FailedCreate", "29": "FailedCreate"}


@cache
def streams(number: str) -> tuple[list[Entry], list[Entry]]:
    return run_virtually(lambda: replay(number))


def differences(recorded: Told, shown: Told, *, end: float, beyond: tuple[str, ...] = ()) -> list[str]:
    found: list[str] = []
    for name in sorted(recorded.states.keys() | shown.states.keys()):
        ours, theirs = shown.states.get(name, []), recorded.states.get(name, [])
        same = 0
        while same < min(len(ours), len(theirs)) and ours[same][1] == theirs[same][1]:
            same += 1
        rest, other = sorted((ours[same:], theirs[same:]), key=len, reverse=True)
        cut = not other and all(t >= end - CUT for t, _ in rest)
        if rest and not cut and not (name in beyond and same == len(theirs)):
            found.append(
                f"{name}, state {same}:\n  recorded {theirs[same:][:2]}\n  sandbox  {ours[same:][:2]}"
            )
    return found


def compare(number: str, shown: list[Entry]) -> list[str]:
    recorded, _ = streams(number)
    end = recording(number)[-1]["t"]
    told, ours = read(recorded), read(shown)
    found = differences(told, ours, end=end, beyond=BEYOND.get(number, ()))
    for event in sorted(told.events - ours.events):
        if event[2] != ONLY_RECORDED.get(number):
            found.append(f"event was only recorded: {event}")
    found += [f"event is only the sandbox's: {event}" for event in sorted(ours.events - told.events)]
    return found


@pytest.mark.parametrize("number", NUMBERS)
def test_sandbox_shows_what_was_recorded(number):
    _, shown = streams(number)

    assert compare(number, shown) == []


@pytest.mark.parametrize("number", NUMBERS)
def test_recording_has_something_to_compare(number):
    told = read(streams(number)[0])

    assert sum(len(states) for states in told.states.values()) >= SHORT.get(number, 10)
    assert told.events


def _without_evicted(entry: Entry) -> Entry:
    found = (entry.obj.get("status") or {}).get("conditions")
    if entry.kind != "workloads" or not found:
        return entry
    kept = [c for c in found if c["type"] != "Evicted"]
    return replace(entry, obj=entry.obj | {"status": entry.obj["status"] | {"conditions": kept}})


def _other_message(entry: Entry) -> Entry:
    found = (entry.obj.get("status") or {}).get("conditions")
    if entry.kind != "workloads" or not found:
        return entry
    changed = [c | {"message": c["message"].replace("1 workload(s)", "2 workload(s)")} for c in found]
    return replace(entry, obj=entry.obj | {"status": entry.obj["status"] | {"conditions": changed}})


def _never_suspended(entry: Entry) -> Entry:
    if entry.kind != "jobsets":
        return entry
    return replace(entry, obj=entry.obj | {"spec": entry.obj["spec"] | {"suspend": False}})


def _exit_code_zero(entry: Entry) -> Entry:
    status = entry.obj.get("status") or {}
    if entry.kind != "pods" or status.get("phase") != "Failed":
        return entry
    return replace(entry, obj=entry.obj | {"status": status | {"phase": "Succeeded"}})


@pytest.mark.parametrize(
    "falsify", [_without_evicted, _other_message, _never_suspended, _exit_code_zero], ids=lambda f: f.__name__
)
def test_comparison_notices_a_sandbox_that_lies(falsify):
    _, shown = streams("03")

    assert compare("03", [falsify(entry) for entry in shown])


def test_comparison_notices_a_missing_step_in_between():
    _, shown = streams("03")
    states = [e for e in shown if e.kind == "workloads"]
    left_out = next(e for e in states if _says(e, "QuotaReserved", "False"))

    assert compare("03", [e for e in shown if e is not left_out])


def _says(entry: Entry, type_: str, status: str) -> bool:
    found = (entry.obj.get("status") or {}).get("conditions") or ()
    return any(c["type"] == type_ and c["status"] == status for c in found)
