"""Work off its job's workers is found, whichever way it leaked."""

from __future__ import annotations

from api.ray_views import RayJob, RayJobStatus
from api.views import ObjectMeta
from k8s_bridge.ray.audit import Direction, Leak, leaks
from k8s_bridge.ray.head import Placed, RayNode, Submission
from k8s_bridge.ray.names import NODE_LABEL, PREFIX
from k8s_bridge.ray.owners import Owners

NODES = (
    RayNode(node_id="head", state="ALIVE"),
    RayNode(node_id="mine", state="ALIVE", labels={NODE_LABEL: "token"}),
    RayNode(node_id="gone", state="DEAD", labels={NODE_LABEL: "token"}),
)
SUBMISSIONS = (
    Submission(submission_id="job-1", job_id="01", status="RUNNING"),
    Submission(submission_id="other", job_id="02", status="RUNNING"),
)


TOKENS = {"job-1": "token"}


def found(*placed: Placed) -> list[Leak]:
    return list(
        leaks(nodes=NODES, submissions=SUBMISSIONS, placed=placed, token_of=lambda one: TOKENS.get(one, ""))
    )


def supervisor(submission: str, *, node: str) -> Placed:
    """As Ray 2.60 lists it: it belongs to the job of the head itself."""
    return Placed(job_id="01000000", node_id=node, name=f"_ray_internal_job_actor_{submission}")


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


def test_what_is_on_a_node_that_is_gone_is_no_leak():
    assert found(Placed(job_id="02", node_id="gone")) == []


def test_the_supervisor_of_a_jobs_own_driver_is_no_leak_wherever_its_driver_is_placed():
    assert found(supervisor("job-1", node="mine"), supervisor("job-1", node="head")) == []


def test_a_strangers_driver_on_a_jobs_workers_is_told():
    assert found(supervisor("other", node="mine"), supervisor("other", node="head")) == [
        Leak(token="token", direction=Direction.IN, submission="other", name="driver")
    ]


def test_what_an_actor_does_is_told_with_the_actor_alone():
    run = Placed(job_id="01000000", node_id="mine", name="JobSupervisor.run", type="ACTOR_TASK")
    made = Placed(job_id="02", node_id="mine", name="Other.__init__", type="ACTOR_CREATION_TASK")

    assert found(run, made) == []


def rayjob(name: str, *, now: str = "", **notes: str) -> RayJob:
    marks = {f"{PREFIX}/{key}": value for key, value in notes.items()}
    return RayJob(metadata=ObjectMeta(name=name, annotations=marks), status=RayJobStatus(job_id=now))


def test_all_submissions_of_a_job_are_its_own_and_no_others():
    jobs = {
        "a": rayjob("train", now="train-22222", released="chosen uid 1 1", requeuing="train-11111"),
        "b": rayjob("train-again", now="mine", released="mine uid 1 1"),
    }
    token_of = Owners(jobs)

    assert {token_of(one) for one in ("train-22222", "train-11111", "train-00000", "chosen")} == {"a"}
    assert {token_of(one) for one in ("train-again-00000", "mine")} == {"b"}
    assert {token_of(one) for one in ("", "train", "raysubmit_x", "train-1", "other-00000")} == {""}
