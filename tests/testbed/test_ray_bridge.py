"""Inner RayJobs on the real KubeRay and a real Ray: each has workers of its own that Kueue admits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from k8s_bridge.ray import names
from testbed import lifecycle, ray_bridge
from testbed.control import kubectl
from testbed.ray_bridge import Bridge, items, job, status, submit, usage, wait
from testbed.ray_cluster import NAMESPACE

pytestmark = [pytest.mark.testbed, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridge]:
    if not lifecycle.is_here():
        pytest.skip("the testbed is not up, or this is not its network: make testbed && make testbed-test")
    with ray_bridge.running(tmp_path_factory.mktemp("ray") / "bridge.log") as running:
        yield running


@pytest.fixture
def idle(bridge: Bridge) -> Iterator[dict[str, str]]:
    """What the shared cluster alone uses; when the test is over it must be so again."""
    before = usage()
    yield before
    kubectl("-n", NAMESPACE, "delete", "rayjobs", "--all", "--timeout=120s")
    wait("everything is given back", lambda: usage() == before and not items("jobsets"))


def test_an_inner_job_waits_for_workers_of_its_own_runs_on_them_and_gives_them_back(bridge, idle):
    submit("life", notes={"workers": "2"})

    wait("the job has succeeded", lambda: status("life") == "SUCCEEDED")

    wait("its workers are given back", lambda: usage() == idle and not items("jobsets"))
    assert job("life")["metadata"]["annotations"][names.STATE] == "Finished"
