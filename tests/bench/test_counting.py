"""Calls by kind, moments by job: the arithmetic that every figure rests on."""

from __future__ import annotations

import pytest

from bench import slurm_answers
from bench.calls import Calls, Kind, of_kube, of_slurm, slurm_job
from bench.marks import Mark, Marks, spread
from bench.tap import Request
from bench.witness import Witness


def request(method: str, target: str, body: bytes = b"") -> Request:
    path, _, query = target.partition("?")
    return Request(method=method, path=path, query=query, body=body, received=1.0)


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("GET", "/slurm/v0.0.42/jobs/state/", (Kind.POLL, "GET jobs/state")),
        ("GET", "/slurm/v0.0.42/jobs/?update_time=1", (Kind.POLL, "GET jobs")),
        ("GET", "/slurm/v0.0.42/job/7", (Kind.READ, "GET job/{}")),
        ("POST", "/slurm/v0.0.42/job/7", (Kind.MUTATION, "POST job/{}")),
        ("DELETE", "/slurm/v0.0.42/node/a-1", (Kind.MUTATION, "DELETE node/{}")),
        ("POST", "/slurm/v0.0.42/job/submit", (Kind.MUTATION, "POST job/submit")),
    ],
)
def test_calls_to_slurm(method: str, target: str, expected: tuple[Kind, str]):
    assert of_slurm(request(method, target)) == expected


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("GET", "/apis/x/v1/namespaces/n/jobsets?watch=1&a=b", (Kind.POLL, "watch jobsets")),
        ("GET", "/apis/x/v1/jobsets?limit=500", (Kind.POLL, "list jobsets")),
        ("GET", "/apis/x/v1/namespaces/n/jobsets/j", (Kind.READ, "get jobsets")),
        ("POST", "/api/v1/namespaces/n/events", (Kind.MUTATION, "create events")),
        ("PATCH", "/apis/x/v1/namespaces/n/things/t/status", (Kind.MUTATION, "patch things/status")),
        ("GET", "/version", (Kind.POLL, "GET /version")),
    ],
)
def test_calls_to_kubernetes(method: str, target: str, expected: tuple[Kind, str]):
    assert of_kube(request(method, target)) == expected


def test_what_came_in_a_time_is_counted_by_kind():
    calls = Calls()
    calls.add(Kind.POLL, "GET jobs")
    before = calls.copy()
    calls.add(Kind.POLL, "GET jobs")
    calls.add(Kind.MUTATION, "POST job/{}")
    since = calls.since(before)
    assert (since.total, since.of(Kind.POLL), since.of(Kind.READ)) == (2, 1, 0)
    assert since.table()["mutation"] == {"POST job/{}": 1}


def test_only_a_read_between_a_change_and_the_next_listing_is_a_read_back():
    witness = Witness()
    for method, target in [
        ("GET", "job/7"),
        ("POST", "job/7"),
        ("GET", "job/8"),
        ("GET", "job/7"),
        ("GET", "jobs/state/"),
        ("GET", "job/7"),
        ("DELETE", "node/slurm-job-7-a"),
    ]:
        witness.asked_slurm(request(method, f"/slurm/v0.0.42/{target}", b"{}"))
    assert (witness.slurm.of(Kind.READ), witness.slurm.of(Kind.MUTATION)) == (1, 2)
    assert witness.slurm_calls[7] == 3


def test_a_text_is_counted_apart_and_a_hold_with_a_text_is_a_change():
    witness = Witness()
    for body in (b'{"comment": "a", "admin_comment": "a"}', b'{"hold": true, "comment": "a"}'):
        witness.asked_slurm(request("POST", "/slurm/v0.0.42/job/7", body))
    assert (witness.slurm.of(Kind.TEXT), witness.slurm.of(Kind.MUTATION), witness.slurm_calls[7]) == (1, 1, 1)


def test_the_job_of_a_call():
    assert slurm_job(request("POST", "/slurm/v0.0.40/job/12")) == 12
    assert slurm_job(request("DELETE", "/slurm/v0.0.40/node/12")) is None


def test_answers_of_all_versions_are_understood():
    assert list(slurm_answers.job_ids({"jobs": [{"job_id": 1}, {"job_id": "2"}, {"job_id": "3_4"}]})) == [
        1,
        2,
        3,
    ]
    old = {"nodes": [{"name": "a", "state": "idle", "state_flags": []}, {"name": "b", "state": "idle+drain"}]}
    new = {
        "nodes": [{"name": "a", "state": ["IDLE", "DYNAMIC_NORM"]}, {"name": "b", "state": ["IDLE", "DRAIN"]}]
    }
    assert slurm_answers.idle_nodes(old) == slurm_answers.idle_nodes(new) == {"a"}
    assert slurm_answers.document(b"<html>") == {}


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        ({"hold": False}, True),
        ({"priority": {"set": True, "number": 5}}, True),
        ({"priority": "5"}, True),
        ({"hold": True, "priority": 5}, False),
        ({"constraints": "a"}, False),
    ],
)
def test_what_releases_a_job(update: dict[str, object], expected: bool):
    assert slurm_answers.releases(update) is expected


def test_percentiles_are_measured_values():
    found = spread(range(1, 101))
    assert (found.count, found.p50, found.p99, found.most) == (100, 50, 99, 100)
    assert spread([3.0]).p99 == 3.0
    with pytest.raises(ValueError, match="nothing was measured"):
        spread([])


def test_a_stage_lasts_from_the_first_time_of_one_mark_to_that_of_another():
    marks = Marks()
    marks.stamp(1, Mark.SUBMITTED, 10.0)
    marks.stamp(1, Mark.ASKED, 12.0)
    marks.stamp(1, Mark.ASKED, 20.0)
    marks.stamp(2, Mark.SUBMITTED, 10.0)
    stages = marks.stages()
    assert set(stages) == {"pickup"}
    assert (stages["pickup"].p50, stages["pickup"].count) == (2.0, 1)
