"""The order of things across objects: what decisions rest on holds in the recordings and in the sandbox.

Unlike test_replay, which follows each object by itself, this looks at changes of different objects.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sandbox.replay.stream import Entry, Json
from sandbox.replay.world import replay
from support.virtual import run_virtually

# One eviction from beginning to end, as the real controllers do it.
STOPPING = [
    "evicted while admitted",
    "jobset suspended",
    "job suspended",
    "pod told to go",
    "quota returned",
]
PREEMPTION = [*STOPPING, "preemptor admitted", "preemptor's pod created", "victim's pod ended"]


def _condition(obj: Json, type_: str) -> str:
    found = (obj.get("status") or {}).get("conditions") or ()
    return next((c["status"] for c in found if c["type"] == type_), "")


def order(stream: list[Entry], *, victim: str, preemptor: str = "") -> list[str]:
    """The milestones of the first eviction of the JobSet `victim`, in the order they happened."""
    tests: dict[str, Callable[[Entry], bool]] = {
        "evicted while admitted": lambda e: (
            _is(e, "workloads", f"jobset-{victim}-")
            and _condition(e.obj, "Evicted") == "True"
            and _condition(e.obj, "Admitted") == "True"
        ),
        "jobset suspended": lambda e: _is(e, "jobsets", victim) and e.obj["spec"]["suspend"],
        "job suspended": lambda e: _is(e, "jobs", f"{victim}-w-0") and e.obj["spec"]["suspend"],
        "pod told to go": lambda e: (
            _is(e, "pods", f"{victim}-w-0-") and "deletionTimestamp" in e.obj["metadata"]
        ),
        "quota returned": lambda e: (
            _is(e, "workloads", f"jobset-{victim}-") and _condition(e.obj, "QuotaReserved") == "False"
        ),
        "victim's pod ended": lambda e: (
            _is(e, "pods", f"{victim}-w-0-") and e.obj["status"]["phase"] in ("Failed", "Succeeded")
        ),
    }
    if preemptor:
        tests |= {
            "preemptor admitted": lambda e: (
                _is(e, "workloads", f"{preemptor}-") and _condition(e.obj, "Admitted") == "True"
            ),
            "preemptor's pod created": lambda e: _is(e, "pods", f"{preemptor.partition('-')[2]}-"),
        }
    start = next(n for n, e in enumerate(stream) if tests["evicted while admitted"](e))
    found = {}
    for name, test in tests.items():
        at = next((n for n, e in enumerate(stream[start:]) if e.type != "DELETED" and test(e)), None)
        if at is not None:
            found[name] = at
    return sorted(found, key=lambda name: found[name])


def _is(entry: Entry, kind: str, name: str) -> bool:
    have = entry.obj["metadata"]["name"]
    return entry.kind == kind and (have.startswith(name) if name.endswith("-") else have == name)


@pytest.mark.parametrize(
    ("number", "victim", "preemptor"),
    [
        ("03", "low", "jobset-high"),
        ("04", "low", "job-hi0"),
        ("19", "a", "jobset-b"),
        ("26", "borrower", "jobset-owner"),
    ],
)
def test_victim_has_stopped_and_returned_quota_before_preemptor_starts(number, victim, preemptor):
    recorded, shown = run_virtually(lambda: replay(number))

    assert order(recorded, victim=victim, preemptor=preemptor) == PREEMPTION
    assert order(shown, victim=victim, preemptor=preemptor) == PREEMPTION


@pytest.mark.parametrize(("number", "victim"), [("08", "a"), ("09", "a"), ("10", "a"), ("28", "ready")])
def test_quota_comes_back_only_after_the_job_was_suspended(number, victim):
    recorded, shown = run_virtually(lambda: replay(number))

    expected = [*STOPPING, "victim's pod ended"]
    assert order(recorded, victim=victim) == expected
    assert order(shown, victim=victim) == expected


def test_hand_deleted_workload_leaves_no_eviction_and_all_pods_are_new():
    for stream in run_virtually(lambda: replay("11")):
        workloads = [e.obj for e in stream if e.kind == "workloads"]
        pods = {e.obj["metadata"]["name"] for e in stream if _is(e, "pods", "a-w-0-") and e.type == "ADDED"}

        assert not any(_condition(w, "Evicted") for w in workloads)
        assert len({w["metadata"]["uid"] for w in workloads}) == 2
        assert len(pods) == 2


def test_pods_of_a_topology_request_run_on_the_hosts_of_their_assignment():
    for stream in run_virtually(lambda: replay("27")):
        bound = {
            e.obj["metadata"]["name"]: e.obj["spec"]["nodeName"]
            for e in stream
            if _is(e, "pods", "preferred-w-0-") and e.obj["spec"].get("nodeName")
        }

        assert sorted(bound.values()) == ["node1", "node1", "node1", "node2"]


def test_pod_on_a_node_without_power_runs_and_terminates_for_ever():
    for stream in run_virtually(lambda: replay("29")):
        pod = [e.obj for e in stream if e.kind == "pods" and e.obj["spec"].get("nodeName") == "node2"][-1]

        assert pod["status"]["phase"] == "Running"
        assert "deletionTimestamp" in pod["metadata"]
        assert _condition(pod, "DisruptionTarget") == "True"
