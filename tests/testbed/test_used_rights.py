"""By its name the last module: what each bridge used in all scenarios before is what the chart gives it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from k8s_bridge.sandbox.world.config import NAMESPACE
from testbed import chart, ray_bridge
from testbed.places import AUDIT

pytestmark = pytest.mark.testbed

Right = tuple[str, str, str]
RARE: set[Right] = {
    ("kueue.x-k8s.io", "workloads", "patch"),  # a job's quota is given back for a while
    ("batch", "jobs", "patch"),  # a time limit was extended
    ("jobset.x-k8s.io", "jobsets", "get"),  # the name of a JobSet is taken
    ("", "pods", "get"),  # a node of Slurm outlived its pod
}
RARE_OF_RAY: set[Right] = {
    ("ray.io", "rayjobs", "delete"),  # a finished job's time is up (ttlAfterFinished)
    ("jobset.x-k8s.io", "jobsets", "get"),  # the name of a JobSet is taken
    ("", "pods", "delete"),  # a job is preempted while its submitter is on the way to Ray
}
"""Rights of what no scenario here brings about."""
SLURM_USERS = {"system:serviceaccount:hpc:k8s-bridge", "system:serviceaccount:bridge-pods:pods-k8s-bridge"}
RAY_USERS = {f"system:serviceaccount:{ray_bridge.NAMESPACE}:{ray_bridge.ACCOUNT}"}


def used(users: set[str]) -> set[Right]:
    events = [json.loads(line) for line in AUDIT.read_text().splitlines()]
    theirs = [event for event in events if event["user"]["username"] in users]
    return {_right(event) for event in theirs if "resource" in event.get("objectRef", {})}


def _right(event: dict) -> Right:
    ref = event["objectRef"]
    resource = "/".join(filter(None, (ref["resource"], ref.get("subresource"))))
    return ref.get("apiGroup", ""), resource, event["verb"]


def granted(values: Mapping[str, Any], namespace: str) -> Iterator[Right]:
    for document in chart.rights(values, namespace=namespace):
        for rule in document.get("rules", ()):
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    yield from ((group, resource, verb) for verb in rule["verbs"])


def test_the_bridge_uses_the_rights_it_has_and_has_those_it_uses(slurm):
    has, uses = set(granted(chart.VALUES, NAMESPACE)), used(SLURM_USERS)

    assert uses <= has
    assert has - uses <= RARE


def test_the_ray_bridge_uses_the_rights_it_has_and_has_those_it_uses(slurm):
    has, uses = set(granted(ray_bridge.VALUES, ray_bridge.NAMESPACE)), used(RAY_USERS)

    assert uses <= has
    assert has - uses <= RARE_OF_RAY
