"""By its name the last module: what the bridge used in all scenarios before is what the chart gives it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from k8s_bridge.sandbox.world.config import NAMESPACE
from testbed import chart
from testbed.places import AUDIT

pytestmark = pytest.mark.testbed

Right = tuple[str, str, str]
RARE: set[Right] = {
    ("kueue.x-k8s.io", "workloads", "patch"),  # a job's quota is given back for a while
    ("batch", "jobs", "patch"),  # a time limit was extended
    ("jobset.x-k8s.io", "jobsets", "get"),  # the name of a JobSet is taken
    ("", "pods", "get"),  # a node of Slurm outlived its pod
}
"""Rights of what no scenario here brings about."""


def used() -> set[Right]:
    events = (json.loads(line) for line in AUDIT.read_text().splitlines())
    return {_right(event) for event in events if "resource" in event.get("objectRef", {})}


def _right(event: dict) -> Right:
    ref = event["objectRef"]
    resource = "/".join(filter(None, (ref["resource"], ref.get("subresource"))))
    return ref.get("apiGroup", ""), resource, event["verb"]


def granted() -> Iterator[Right]:
    for document in chart.rights(chart.VALUES, namespace=NAMESPACE):
        for rule in document.get("rules", ()):
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    yield from ((group, resource, verb) for verb in rule["verbs"])


def test_the_bridge_uses_the_rights_it_has_and_has_those_it_uses(slurm):
    assert used() <= set(granted())
    assert set(granted()) - used() <= RARE
