"""Work off its job's workers is found, whichever way it leaked."""

from __future__ import annotations

from k8s_bridge.ray.audit import Direction, Leak, leaks
from k8s_bridge.ray.head import Placed, RayNode, Submission
from k8s_bridge.ray.names import NODE_LABEL

NODES = (
    RayNode(node_id="head", state="ALIVE"),
    RayNode(node_id="mine", state="ALIVE", labels={NODE_LABEL: "token"}),
    RayNode(node_id="gone", state="DEAD", labels={NODE_LABEL: "token"}),
)
SUBMISSIONS = (
    Submission(submission_id="job-1", job_id="01", status="RUNNING"),
    Submission(submission_id="other", job_id="02", status="RUNNING"),
)


def found(*placed: Placed) -> list[Leak]:
    return list(leaks(nodes=NODES, submissions=SUBMISSIONS, placed=placed, owners={"job-1": "token"}))


def test_work_on_its_own_workers_is_no_leak():
    assert found(Placed(job_id="01", node_id="mine"), Placed(job_id="02", node_id="head")) == []


def test_a_strangers_work_on_a_jobs_workers_is_told_with_whose_it_is():
    assert found(Placed(job_id="02", node_id="mine", name="f"), Placed(job_id="09", node_id="mine")) == [
        Leak(token="token", direction=Direction.IN, submission="other", name="f"),
        Leak(token="token", direction=Direction.IN, submission="", name=""),
    ]


def test_a_jobs_work_elsewhere_is_told():
    (leak,) = found(Placed(job_id="01", node_id="head", name="g"))
    assert leak == Leak(token="token", direction=Direction.OUT, submission="job-1", name="g")


def test_what_is_rays_own_or_on_a_node_that_is_gone_is_no_leak():
    assert (
        found(Placed(job_id="02", node_id="mine", name="JobSupervisor"), Placed(job_id="02", node_id="gone"))
        == []
    )
