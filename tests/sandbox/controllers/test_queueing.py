"""Who is admitted, in which order, and at what cost."""

from __future__ import annotations

import pytest
from sandbox.controllers.make import Lab, in_lab, jobset

from k8s_bridge.sandbox.apiserver import kinds
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.kueue import cycle


def test_first_come_first_served_among_equals():
    async def test(lab: Lab) -> None:
        lab.submit(*(jobset(f"j{n}", cpu="2") for n in range(4)))
        await lab.sleep(2)
        assert lab.running() == ["j0"]

        lab.storage.delete(kinds.JOBSETS, "default", "j0")
        await lab.sleep(2)
        assert lab.running() == ["j1"]

    in_lab(test)


def test_higher_priority_goes_first_when_quota_comes_free():
    async def test(lab: Lab) -> None:
        lab.storage.create(kinds.PRIORITYCLASSES, {"metadata": {"name": "top"}, "value": 2000})
        lab.submit(jobset("now", cpu="2", priority="top"))
        await lab.sleep(2)
        lab.submit(jobset("early", cpu="2"), jobset("late", cpu="2", priority="high"))
        await lab.sleep(2)
        lab.storage.delete(kinds.JOBSETS, "default", "now")
        await lab.sleep(2)

        assert lab.running() == ["late"]

    in_lab(test)


def test_small_one_overtakes_a_large_one_that_does_not_fit():
    async def test(lab: Lab) -> None:
        lab.submit(jobset("half"), jobset("large", cpu="2"), jobset("small"))
        await lab.sleep(2)

        assert lab.running() == ["half", "small"]

    in_lab(test)


def test_strict_queue_lets_nobody_overtake():
    async def test(lab: Lab) -> None:
        strict = {"spec": {"queueingStrategy": "StrictFIFO"}}
        lab.storage.patch(kinds.CLUSTERQUEUES, "", "pool", strict)
        lab.submit(jobset("half"), jobset("large", cpu="2"), jobset("small"))
        await lab.sleep(2)

        assert lab.running() == ["half"]

    in_lab(test)


def test_nobody_slips_past_a_preemptor_that_waits_for_its_victims():
    async def test(lab: Lab) -> None:
        lab.submit(jobset("victim"))
        await lab.sleep(3)
        lab.submit(jobset("preemptor", pods=2, priority="high"), jobset("small"))
        await lab.sleep(0.01)
        granted = [
            e for e in lab.world.seen if e.kind == "workloads" and conditions.is_true(e.obj, "QuotaReserved")
        ]

        assert not any(e.obj["metadata"]["name"].startswith("jobset-small-") for e in granted)
        assert lab.running() == ["preemptor"]

    in_lab(test)


def test_waiting_ones_are_tried_again_one_second_after_quota_came_free():
    async def test(lab: Lab) -> None:
        lab.submit(jobset("first", pods=2), jobset("second", pods=2))
        await lab.sleep(2)
        lab.storage.delete(kinds.JOBSETS, "default", "first")
        await lab.sleep(0.9)
        assert lab.running() == []

        await lab.sleep(0.2)
        assert lab.running() == ["second"]

    in_lab(test)


def test_only_as_many_are_preempted_as_needed_and_the_newest_first():
    async def test(lab: Lab) -> None:
        lab.submit(jobset("old"))
        await lab.sleep(2)
        lab.submit(jobset("new"))
        await lab.sleep(2)
        lab.submit(jobset("high", priority="high"))
        await lab.sleep(2)

        assert lab.running() == ["high", "old"]

    in_lab(test)


def test_thousands_of_equal_workloads_cost_one_attempt_each_time_quota_comes_free(monkeypatch):
    attempts = 0
    really = cycle.assign

    def counted(*args, **kwargs):
        nonlocal attempts
        attempts += 1
        return really(*args, **kwargs)

    monkeypatch.setattr(cycle, "assign", counted)

    async def test(lab: Lab) -> None:
        nonlocal attempts
        lab.submit(jobset("a", cpu="2"), *(jobset(f"j{n}", cpu="2") for n in range(1000)))
        await lab.sleep(3)
        assert lab.storage.get(kinds.CLUSTERQUEUES, "", "pool")["status"]["pendingWorkloads"] == 1000
        assert "2 more needed" in lab.why("j999")
        assert attempts < 10

        attempts = 0
        lab.storage.delete(kinds.JOBSETS, "default", "a")
        await lab.sleep(3)
        assert lab.running() == ["j0"]
        assert attempts < 5

    in_lab(test)


def test_extended_resources_and_pods_are_counted_like_any_other():
    async def test(lab: Lab) -> None:
        quotas = [
            {"name": "cpu", "nominalQuota": "100"},
            {"name": "memory", "nominalQuota": "1Ti"},
            {"name": "nvidia.com/gpu", "nominalQuota": 4},
            {"name": "pods", "nominalQuota": 3},
        ]
        group = {
            "coveredResources": [q["name"] for q in quotas],
            "flavors": [{"name": "default", "resources": quotas}],
        }
        lab.storage.create(
            kinds.CLUSTERQUEUES, {"metadata": {"name": "gpus"}, "spec": {"resourceGroups": [group]}}
        )
        queue = {"metadata": {"name": "gpu", "namespace": "default"}, "spec": {"clusterQueue": "gpus"}}
        lab.storage.create(kinds.LOCALQUEUES, queue)
        lab.submit(
            jobset("two", pods=2, queue="gpu", resources={"nvidia.com/gpu": "1"}),
            jobset("gpus", queue="gpu", resources={"nvidia.com/gpu": "3"}),
            jobset("pods", pods=2, queue="gpu"),
        )
        await lab.sleep(2)

        assert lab.running() == ["two"]
        assert "insufficient unused quota for nvidia.com/gpu in flavor default, 1 more needed" in lab.why(
            "gpus"
        )
        assert "insufficient unused quota for pods in flavor default, 1 more needed" in lab.why("pods")
        status = lab.storage.get(kinds.CLUSTERQUEUES, "", "gpus")["status"]
        used = {r["name"]: r["total"] for r in status["flavorsUsage"][0]["resources"]}
        assert used == {"cpu": "2", "memory": "64Mi", "nvidia.com/gpu": "2", "pods": "2"}

    in_lab(test)


def test_resource_that_the_queue_does_not_cover_is_named():
    async def test(lab: Lab) -> None:
        lab.submit(jobset("gpu", resources={"nvidia.com/gpu": "1"}))
        await lab.sleep(1)

        expected = "couldn't assign flavors to pod set w: resource nvidia.com/gpu unavailable in ClusterQueue"
        assert lab.why("gpu") == expected

    in_lab(test)


def test_queue_with_a_missing_flavor_is_inactive_until_the_flavor_exists():
    async def test(lab: Lab) -> None:
        lab.storage.delete(kinds.RESOURCEFLAVORS, "", "default")
        lab.submit(jobset("a"))
        await lab.sleep(2)
        active = conditions.find(lab.storage.get(kinds.CLUSTERQUEUES, "", "pool"), "Active")
        assert active is not None
        assert active["reason"] == "FlavorNotFound"
        assert lab.why("a") == "ClusterQueue pool is inactive"

        lab.storage.create(kinds.RESOURCEFLAVORS, {"metadata": {"name": "default"}, "spec": {}})
        await lab.sleep(2)
        assert lab.running() == ["a"]

    in_lab(test)


def test_workload_that_runs_longer_than_allowed_is_deactivated():
    async def test(lab: Lab) -> None:
        manifest = jobset("a")
        manifest["metadata"]["labels"]["kueue.x-k8s.io/max-exec-time-seconds"] = "30"
        lab.submit(manifest)
        await lab.sleep(25)
        assert lab.running() == ["a"]

        await lab.sleep(10)
        assert lab.running() == []
        evicted = conditions.find(lab.workload("a"), "Evicted")
        assert evicted is not None
        assert evicted["reason"] == "DeactivatedDueToMaximumExecutionTimeExceeded"

    in_lab(test)


@pytest.mark.parametrize("suspend", [True, False])
def test_jobset_with_a_queue_name_starts_suspended_whatever_it_says(suspend):
    async def test(lab: Lab) -> None:
        lab.submit(jobset("a", queue="nowhere", spec={"suspend": suspend}))
        await lab.sleep(2)

        assert lab.jobset("a")["spec"]["suspend"] is True
        assert lab.pods("a") == []

    in_lab(test)


def test_quota_is_zero_again_when_everything_is_deleted():
    async def test(lab: Lab) -> None:
        lab.submit(*(jobset(f"j{n}") for n in range(5)))
        await lab.sleep(5)
        for n in range(5):
            lab.storage.delete(kinds.JOBSETS, "default", f"j{n}")
        await lab.sleep(10)

        status = lab.storage.get(kinds.CLUSTERQUEUES, "", "pool")["status"]
        assert status["pendingWorkloads"] == status["reservingWorkloads"] == status["admittedWorkloads"] == 0
        totals = {r["total"] for flavor in status["flavorsReservation"] for r in flavor["resources"]}
        assert totals == {"0"}
        assert not lab.storage.list(kinds.WORKLOADS)
        assert not lab.storage.list(kinds.JOBS)
        assert not lab.storage.list(kinds.PODS, namespace="default")

    in_lab(test)
