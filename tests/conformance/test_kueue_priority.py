"""What changes with the labels of a JobSet: its priority at any time, its queue only while it waits."""

from __future__ import annotations

from conformance.cluster import Cluster
from conformance.test_kueue_admission import NO_ROOM

_QUEUE, _CLASS = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"

_DENIED = 'admission webhook "vjobset.kb.io" denied the request:'


def _label(name: str, value: str | None) -> dict:
    return {"metadata": {"labels": {name: value}}}


async def test_priority_of_a_waiting_and_of_a_running_jobset_follows_its_label(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a", priority="high")
    await cluster.queue("b")
    await cluster.quiet()

    await cluster.patch("jobset/b", _label(_CLASS, cluster.make.own("high")))
    await cluster.sees("workload/b", "priority=1000 (high)")
    await cluster.quiet()
    assert cluster.story("workload/b", since="Quota") == [NO_ROOM, "priority=1000 (high)"]
    await cluster.hears("jobset/b", "Normal UpdatedWorkload: Updated workload priority class: <workload/b>")

    # Only now is there somebody to preempt.
    await cluster.patch("jobset/a", _label(_CLASS, cluster.make.own("low")))
    await cluster.sees("pod/b-w-0-0", "phase=Running")
    assert cluster.order("workload/a priority=10 (low)", "workload/a Evicted=True Preempted") == [
        "workload/a priority=10 (low)",
        "workload/a Evicted=True Preempted",
    ]


async def test_priority_class_can_be_changed_but_not_taken_away(cluster: Cluster):
    await cluster.furnish()
    await cluster.queue("a", cpu="2")

    answer = await cluster.try_patch("jobset/a", _label(_CLASS, None))

    assert (answer.status_code, answer.json()["reason"]) == (403, "Forbidden")
    assert answer.json()["message"] == (
        f"{_DENIED} metadata.labels[kueue.x-k8s.io/priority-class]: "
        'Invalid value: "": WorkloadPriorityClass cannot be removed from a workload'
    )


async def test_a_waiting_jobset_moves_to_another_queue(cluster: Cluster):
    await cluster.furnish()
    await cluster.create(cluster.make.cluster_queue("cq2", quota={"cpu": "2"}))
    await cluster.create(cluster.make.local_queue("lq2", queue="cq2"))
    await cluster.sees("localqueue/lq2", "Active=True")
    await cluster.queue("a", cpu="2")
    await cluster.quiet()

    await cluster.patch("jobset/a", _label(_QUEUE, "lq2"))
    await cluster.sees("workload/a", "Admitted=True")

    assert cluster.story("workload/a", since="queue=lq2") == [
        "queue=lq2",
        "Admitted=True Admitted: The workload is admitted",
        "QuotaReserved=True QuotaReserved: Quota reserved in ClusterQueue cq2",
        "admission=cq2",
    ]


async def test_a_running_jobset_cannot_move_to_another_queue(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a")

    for queue in ("lq2", None):
        answer = await cluster.try_patch("jobset/a", _label(_QUEUE, queue))

        assert (answer.status_code, answer.json()["reason"]) == (403, "Forbidden")
        assert answer.json()["message"] == (
            f"{_DENIED} metadata.labels[kueue.x-k8s.io/queue-name]: "
            f'Invalid value: "{queue or ""}": field is immutable'
        )
