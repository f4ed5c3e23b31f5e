"""Ray's behaviour that needs hours, or a head's death: on virtual time, where they cost nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.virtual import LoopClock, run_virtually

from k8s_bridge.sandbox.controllers.kubelet_runtime import ExitStatus, PodEnv
from k8s_bridge.sandbox.controllers.timing import REALISTIC
from k8s_bridge.sandbox.ray_fake import Heads, Serving
from k8s_bridge.sandbox.ray_fake.entrypoint import read_entrypoint
from k8s_bridge.sandbox.ray_fake.model import NodeState
from k8s_bridge.sandbox.ray_fake.runtime import RayRuntime
from k8s_bridge.sandbox.ray_fake.start import start_options
from k8s_bridge.sandbox.ray_fake.submitter import submission

STORE = {"object_store_memory": 200_000_000.0}
ADDRESS = "shared-head-svc.ns.svc.cluster.local:6379"


def pod(
    *words: str, name: str = "p", labels: dict[str, str] | None = None, **container: Any
) -> dict[str, Any]:
    meta = {"name": name, "namespace": "ns", "labels": labels or {}}
    return {"metadata": meta, "spec": {"containers": [{"name": "ray", "command": list(words), **container}]}}


def environment(**variables: str) -> PodEnv:
    return PodEnv(node="n", pod_ip="127.0.0.1", variables=variables)


class Ray:
    """A head and what joins it."""

    def __init__(self) -> None:
        self.heads = Heads(LoopClock(), timing=REALISTIC, serving=Serving.NOWHERE)
        self.runtime = RayRuntime(self.heads)

    async def begin(self, **variables: str) -> Any:
        shape = pod("ray", "start", "--head", "--num-cpus=0", labels={"ray.io/cluster": "shared"})
        running = await self.runtime.start(shape, environment(**variables))
        self.head = self.heads.at("ns", "shared")
        return running

    async def worker(self, *options: str) -> Any:
        running = await self.runtime.start(
            pod("ray", "start", f"--address={ADDRESS}", *options), environment()
        )
        await running.ready()
        return running


def test_a_job_that_waits_for_too_long_fails_and_says_what_to_set():
    async def story():
        ray = Ray()
        await ray.begin()
        ray.head.submit({"entrypoint": "true", "submission_id": "j", "entrypoint_resources": {"x": 1}})
        await asyncio.sleep(899)
        before = ray.head.jobs["j"].status
        await asyncio.sleep(2)
        return before, ray.head.jobs["j"]

    before, job = run_virtually(story)

    assert before == "PENDING"
    assert (job.status, job.error_type) == ("FAILED", "JOB_SUPERVISOR_ACTOR_START_TIMEOUT")
    assert "RAY_JOB_START_TIMEOUT_SECONDS" in job.said
    assert "within 900.0 seconds" in job.said


def test_the_timeout_is_the_heads_own():
    async def story():
        ray = Ray()
        await ray.begin(RAY_JOB_START_TIMEOUT_SECONDS="3600")
        ray.head.submit({"entrypoint": "true", "submission_id": "j", "entrypoint_resources": {"x": 1}})
        await asyncio.sleep(3500)
        return ray.head.jobs["j"].status

    assert run_virtually(story) == "PENDING"


def test_with_a_head_goes_all_that_it_knew_and_its_workers_give_up():
    async def story():
        ray = Ray()
        first = await ray.begin()
        worker = await ray.worker()
        ray.head.submit({"entrypoint": "sleep 600", "submission_id": "j", "entrypoint_num_cpus": 1})
        await asyncio.sleep(10)
        await first.terminate(grace=5)
        began = asyncio.get_running_loop().time()
        code = (await worker.wait()).code
        lasted = asyncio.get_running_loop().time() - began
        await ray.begin()
        return code, lasted, ray.head.jobs

    code, lasted, jobs = run_virtually(story)

    assert code == 1
    assert 30 < lasted < 90
    assert jobs == {}


def test_a_worker_waits_for_a_head_that_is_not_there_yet():
    async def story():
        ray = Ray()
        joining = asyncio.create_task(ray.worker())
        await asyncio.sleep(30)
        early = joining.done()
        await ray.begin()
        await asyncio.wait_for(joining, 5)
        return early, len(ray.head.nodes)

    assert run_virtually(story) == (False, 2)


def end_of_worker(grace: float, *, busy: bool) -> tuple[ExitStatus, NodeState, str]:
    async def story():
        ray = Ray()
        await ray.begin()
        worker = await ray.worker()
        if busy:
            ray.head.submit({"entrypoint": "sleep 600", "submission_id": "j", "entrypoint_num_cpus": 1})
            await asyncio.sleep(5)
        await worker.terminate(grace=grace)
        end, node = await worker.wait(), next(n for n in ray.head.nodes.values() if not n.head)
        await asyncio.sleep(0.1)
        return end, node.state, ray.head.jobs["j"].status if busy else ""

    return run_virtually(story)


@pytest.mark.parametrize(
    ("grace", "busy", "code", "state", "job"),
    [
        (5, False, 1, "DEAD", ""),
        (0, False, 137, "ALIVE", ""),
        (5, True, 137, "ALIVE", "RUNNING"),
        (60, True, 1, "DEAD", "FAILED"),
    ],
)
def test_how_a_worker_ends_decides_when_the_head_knows(grace, busy, code, state, job):
    end, node, status = end_of_worker(grace, busy=busy)

    assert (end.code, node, status) == (code, state, job)


def test_a_busy_node_is_not_drained_as_idle_and_a_drained_one_gets_nothing_new():
    async def story():
        ray = Ray()
        await ray.begin()
        await ray.worker()
        node = next(n for n in ray.head.nodes.values() if not n.head)
        ray.head.submit({"entrypoint": "sleep 5", "submission_id": "a", "entrypoint_num_cpus": 0.5})
        busy = ray.head.drain(node.node_id, only_idle=True)
        forced = ray.head.drain(node.node_id, only_idle=False)
        ray.head.submit({"entrypoint": "true", "submission_id": "b", "entrypoint_num_cpus": 0.5})
        await asyncio.sleep(60)
        return busy, forced, ray.head.jobs["a"].status, ray.head.jobs["b"].status

    assert run_virtually(story) == (False, True, "SUCCEEDED", "PENDING")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (
            ("ray", "start", "--address", "h:6379", "--num-cpus", "2"),
            {"CPU": 2.0, "memory": 1024.0**3, **STORE},
        ),
        (
            ("bash", "-c", "ulimit -n 9; ray start --address=h:6379 --block"),
            {"CPU": 1.0, "memory": 1024.0**3, **STORE},
        ),
        (
            ("sh", "-c", "exec ray start --address=$HEAD --num-gpus=1 --resources='{\"x\": 0.5}'"),
            {"CPU": 1.0, "GPU": 1.0, "memory": 1024.0**3, "x": 0.5, **STORE},
        ),
    ],
)
def test_what_a_node_offers(words, wanted):
    limits = {"limits": {"cpu": "1500m", "memory": "1Gi"}}

    assert start_options(pod(*words, resources=limits), environment(HEAD="h:6379")).resources == wanted


def test_options_of_variables_are_added_to_a_submission():
    script = (
        'ray() { if [ -z "$MORE" ]; then command ray "$@"; return; fi; '
        'command ray "$@" --runtime-env-json "$MORE"; }; '
        "if ! ray job status --address http://h:8265 j ; then ray job submit --address http://h:1 --no-wait "
        '--runtime-env-json "{}" --submission-id j -- python3 -c "print(1)" ; fi ; ray job logs j'
    )

    plain, more = submission(script, {}), submission(script, {"MORE": '{"env_vars": {"A": "1"}}'})

    found = plain["entrypoint"], plain["submission_id"], plain["runtime_env"]
    assert found == (
        'python3 -c "print(1)"',
        "j",
        {},
    )
    assert more["runtime_env"] == {"env_vars": {"A": "1"}}


@pytest.mark.parametrize(
    ("text", "seconds", "code"),
    [
        ("true", 0, 0),
        ("sleep 3; exit 2", 3, 2),
        ("python3 -c 'raise SystemExit(3)'", 0, 3),
        ("python -c 'import time; time.sleep(1.5); time.sleep(2)'", 3.5, 0),
        ("python3 -c 'raise ValueError(1)'", 0, 1),
        ("python3 -c 'while True: pass'", None, 0),
        ("train --epochs 3", None, 0),
    ],
)
def test_what_an_entrypoint_does(text, seconds, code):
    script = read_entrypoint(text)

    assert (script.seconds, script.code) == (seconds, code)
