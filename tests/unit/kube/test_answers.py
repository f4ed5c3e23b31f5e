"""An answer that is late does not bring back an object whose end the watch has shown."""

from __future__ import annotations

from api.views import JobSet, ObjectMeta
from k8s_bridge.kube.answers import Answers
from k8s_bridge.kube.versions import table_of


def jobset(uid: str, version: int) -> JobSet:
    return JobSet(metadata=ObjectMeta(name="a", namespace="ns", uid=uid, resource_version=str(version)))


def test_an_answer_counts_before_the_watch_tells():
    table = table_of(JobSet)
    Answers(table).take(jobset("1", 5))
    assert table.get("ns/a") == jobset("1", 5)


def test_not_when_the_object_has_ended():
    table = table_of(JobSet)
    answers = Answers(table)
    table.upsert(jobset("1", 5))
    table.remove("ns/a")
    answers.take(jobset("1", 6))
    assert len(table) == 0


def test_nor_when_another_of_its_name_has_been_made_and_has_ended_too():
    table = table_of(JobSet)
    answers = Answers(table)
    table.upsert(jobset("1", 5))
    table.replace([jobset("2", 8)])
    table.remove("ns/a")
    answers.take(jobset("1", 6))
    assert len(table) == 0
    answers.take(jobset("3", 9))
    assert table.get("ns/a") == jobset("3", 9)
