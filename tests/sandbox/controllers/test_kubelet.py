"""The kubelet and the runtimes that can be plugged into it."""

from __future__ import annotations

import asyncio

import pytest
from sandbox.controllers.make import Lab, in_lab, jobset
from support.virtual import LoopClock, run_virtually

from k8s_bridge.sandbox.apiserver import kinds
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.controllers.job_render import is_ready
from k8s_bridge.sandbox.controllers.kubelet_runtime import ExitStatus, runtime_by_container
from k8s_bridge.sandbox.controllers.manager import Controllers
from k8s_bridge.sandbox.controllers.nodes import node_manifest
from k8s_bridge.sandbox.controllers.pod_env import variables
from k8s_bridge.sandbox.controllers.simulated_runtime import Script, SimulatedRuntime, read_script


class Hand:
    """A runtime and its one pod, moved by hand."""

    def __init__(self, *, refuse: str = "") -> None:
        self.refuse = refuse
        self.env = None
        self.graces: list[float] = []
        self.ready_now = asyncio.Event()
        self.end = asyncio.get_running_loop().create_future()

    async def start(self, pod, env):
        if self.refuse:
            raise RuntimeError(self.refuse)
        self.env = env
        return self

    async def ready(self):
        await self.ready_now.wait()

    async def wait(self):
        return await asyncio.shield(self.end)

    async def terminate(self, *, grace):
        self.graces.append(grace)
        if not self.end.done():
            self.end.set_result(ExitStatus(code=0))


POD = {
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {
        "terminationGracePeriodSeconds": 7,
        "containers": [
            {
                "name": "slurmd",
                "image": "slurmd:1",
                "env": [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            }
        ],
    },
}


def with_hand(test, **hand_options):
    async def work():
        storage = Storage(clock=LoopClock())
        hand = Hand(**hand_options)
        select = runtime_by_container({"slurmd": hand}, default=SimulatedRuntime(storage.clock))
        controllers = Controllers(storage, select=select)
        running = asyncio.create_task(controllers.run())
        storage.create(kinds.NODES, node_manifest("n", {"cpu": "4", "memory": "8Gi"}))
        storage.create(kinds.PODS, POD)
        await asyncio.sleep(3)
        await test(storage, hand)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert controllers.engine.failures == 0

    run_virtually(work)


def test_pod_runs_unready_until_its_runtime_says_ready():
    async def test(storage, hand):
        assert storage.get(kinds.PODS, "default", "p")["status"]["phase"] == "Running"
        assert not is_ready(storage.get(kinds.PODS, "default", "p"))

        hand.ready_now.set()
        await asyncio.sleep(1)
        assert is_ready(storage.get(kinds.PODS, "default", "p"))

    with_hand(test)


def test_runtime_is_told_who_and_where_the_pod_is():
    async def test(_storage, hand):
        assert (hand.env.node, hand.env.variables) == ("n", {"POD": "p"})

    with_hand(test)


def test_deleted_pod_is_given_its_own_grace_and_then_goes():
    async def test(storage, hand):
        storage.delete(kinds.PODS, "default", "p")
        await asyncio.sleep(5)

        assert hand.graces[0] == 7
        assert storage.find(kinds.PODS, "default", "p") is None

    with_hand(test)


def test_process_that_dies_fails_its_pod_with_its_exit_code():
    async def test(storage, hand):
        hand.end.set_result(ExitStatus(code=9, message="out of cheese"))
        await asyncio.sleep(3)

        status = storage.get(kinds.PODS, "default", "p")["status"]
        ended = status["containerStatuses"][0]["state"]["terminated"]
        assert (status["phase"], ended["exitCode"], ended["message"]) == ("Failed", 9, "out of cheese")

    with_hand(test)


def test_runtime_that_cannot_start_a_pod_fails_that_pod():
    async def test(storage, _hand):
        status = storage.get(kinds.PODS, "default", "p")["status"]

        assert status["phase"] == "Failed"
        assert status["containerStatuses"][0]["state"]["terminated"]["message"] == "no such binary"

    with_hand(test, refuse="no such binary")


def test_image_that_is_missing_is_pulled_in_vain_again_and_again():
    async def test(lab: Lab) -> None:
        manifest = jobset("a")
        template = manifest["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
        template["spec"]["containers"][0]["image"] = "x/missing:1"
        lab.submit(manifest)
        await lab.sleep(60)
        reasons = [
            e.obj["status"]["containerStatuses"][0]["state"]["waiting"]["reason"]
            for e in lab.world.seen
            if e.kind == "pods" and e.obj["status"].get("containerStatuses")
        ]
        assert reasons[:4] == ["ContainerCreating", "ErrImagePull", "ImagePullBackOff", "ErrImagePull"]

        lab.storage.delete(kinds.JOBSETS, "default", "a")
        await lab.sleep(5)
        assert lab.pods("a") == []

    in_lab(test)


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (["sleep", "3"], Script(seconds=3, code=0)),
        (["sh", "-c", "sleep 1; exit 3"], Script(seconds=1, code=3)),
        (["false"], Script(seconds=0, code=1)),
        (["sh", "-c", "sleep 2 && true"], Script(seconds=2, code=0)),
        (
            ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.2; done"],
            Script(seconds=None, code=0, on_term=0),
        ),
        (["/usr/sbin/daemon", "-D"], Script(seconds=None, code=0)),
        ([], Script(seconds=None, code=0)),
    ],
)
def test_script_is_read_from_the_command(words, script):
    assert read_script(words) == script


def test_references_in_the_environment_are_resolved():
    pod = {
        "metadata": {"name": "p", "namespace": "ns", "labels": {"a/b": "x"}},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "env": [
                        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                        {"name": "LABEL", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a/b']"}}},
                        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                        {"name": "BOTH", "value": "$(NAME)-$(LABEL)-$(OTHER)"},
                        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                    ],
                }
            ]
        },
    }

    expected = {"NAME": "p", "LABEL": "x", "NODE": "n", "BOTH": "p-x-$(OTHER)"}
    assert variables(pod, node="n", ip="10.0.0.1") == expected
