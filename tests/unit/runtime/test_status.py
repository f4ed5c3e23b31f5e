from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest
import yaml

from api.problems import Problem
from k8s_bridge.core.conditions import Finding
from k8s_bridge.core.errors import Conflict, Missing, Retry
from k8s_bridge.runtime.sources import MixingObject
from k8s_bridge.runtime.status import Status

PROJECT = Path(__file__).parents[3]
READY = Finding(type="Ready", status="True", reason="Working")
FOREIGN = {
    "type": "example.com/Audited",
    "status": "True",
    "reason": "Yes",
    "message": "seen",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


class Server:
    """The one object in the API server: merges status patches as a CRD's status subresource does."""

    def __init__(self):
        self.object = {
            "metadata": {
                "name": "main",
                "namespace": "hpc",
                "uid": "u1",
                "resourceVersion": "1",
                "generation": 3,
            },
            "spec": {},
            "status": {"conditions": [FOREIGN]},
        }
        self.patches, self.failures = [], []

    async def write(self, patch):
        self.patches.append(patch)
        if self.failures:
            raise self.failures.pop(0)
        meta = self.object["metadata"]
        if patch.resource_version != meta["resourceVersion"]:
            raise Conflict("changed")
        self.object["status"] |= json.loads(msgspec.json.encode(patch.patch["status"]))
        self.bump()
        return msgspec.json.encode(self.object)

    def bump(self):
        meta = self.object["metadata"]
        meta["resourceVersion"] = str(int(meta["resourceVersion"]) + 1)

    def view(self):
        return msgspec.json.decode(msgspec.json.encode(self.object), type=MixingObject)

    def condition(self, kind):
        return next(c for c in self.object["status"]["conditions"] if c["type"] == kind)


class World:
    def __init__(self):
        self.server, self.lease = Server(), [True]
        self.told: list[Exception] = []
        self.status = Status(
            self.server.write,
            may_write=lambda: self.lease[0],
            clock=lambda: 1_800_000_000.0,
            random=lambda: 0.5,
            failed=self.told.append,
        )
        self.status.seen(self.server.view())
        self.task = asyncio.get_running_loop().create_task(self.status.run())

    async def stop(self):
        self.status.stop()
        await self.task


def test_one_write_for_one_change_and_none_for_none(virtual):
    async def main():
        world = World()
        for _ in range(3):
            world.status.report([READY], {"slurmVersion": "24.11.5"})
            await asyncio.sleep(10)
        world.status.seen(world.server.view())
        await asyncio.sleep(10)
        assert len(world.server.patches) == 1
        status = world.server.object["status"]
        assert status["slurmVersion"] == "24.11.5"
        assert status["observedGeneration"] == 3
        assert status["conditions"][0] == FOREIGN
        assert world.server.condition("Ready")["observedGeneration"] == 3
        assert world.server.patches[0].subresource == "status"
        await world.stop()

    virtual(main)


def test_changes_in_quick_succession_become_two_writes_at_most(virtual):
    async def main():
        world = World()
        for count in range(20):
            world.status.report([READY], {"counts": {"running": count}})
            await asyncio.sleep(0.01)
        await asyncio.sleep(5)
        assert len(world.server.patches) == 2
        assert world.server.object["status"]["counts"] == {"running": 19}
        await world.stop()

    virtual(main)


def test_a_change_by_somebody_else_is_merged_into_and_not_overwritten(virtual):
    async def main():
        world = World()
        other = FOREIGN | {"type": "example.com/Billed"}
        world.server.object["status"]["conditions"].append(other)
        world.server.bump()  # the watch has not told us yet
        world.status.report([READY], {})
        await asyncio.sleep(0.05)
        assert len(world.server.patches) == 1, "refused: written against an old version"
        world.status.seen(world.server.view())
        await asyncio.sleep(2)
        assert world.server.condition("example.com/Billed") == other
        assert world.server.condition("Ready")["status"] == "True"
        await world.stop()

    virtual(main)


def test_a_refused_revision_overrides_ready_until_it_is_mended(virtual):
    async def main():
        world = World()
        world.status.report([READY], {})
        await asyncio.sleep(2)
        world.server.object["metadata"]["generation"] = 4
        world.server.bump()
        world.status.seen(world.server.view())
        problem = Problem(path="spec.slurmd.image", why="is not allowed", fix="use another")
        world.status.refuse([problem], kept=True)
        world.status.report([READY], {"slurmVersion": "x"})
        await asyncio.sleep(3)
        ready = world.server.condition("Ready")
        assert (ready["status"], ready["reason"]) == ("False", "SpecRefused")
        assert "spec.slurmd.image: is not allowed; use another" in ready["message"]
        assert "last good revision" in ready["message"]
        assert world.server.object["status"]["observedGeneration"] == 3, "generation 4 is not in force"
        world.status.accept()
        await asyncio.sleep(3)
        assert world.server.condition("Ready")["status"] == "True"
        assert world.server.object["status"]["observedGeneration"] == 4
        await world.stop()

    virtual(main)


def test_many_problems_fit_into_the_message(virtual):
    async def main():
        world = World()
        world.status.refuse([Problem(path=f"spec.f{n}", why="x", fix="y") for n in range(500)], kept=False)
        await asyncio.sleep(1)
        message = world.server.condition("Ready")["message"]
        assert message.endswith("and 480 more")
        await world.stop()

    virtual(main)


def test_trouble_is_tried_again_with_back_off(virtual):
    async def main():
        world = World()
        world.server.failures = [Retry("down")] * 4
        world.status.report([READY], {})
        await asyncio.sleep(30)
        assert len(world.server.patches) == 5
        assert world.server.condition("Ready")["status"] == "True"
        assert [str(error) for error in world.told] == ["down"], "said once, not with every attempt"
        await world.stop()

    virtual(main)


def test_a_standby_writes_nothing_and_a_new_leader_what_is_due(virtual):
    async def main():
        world = World()
        world.lease[0] = False
        world.status.report([READY], {})
        await asyncio.sleep(30)
        assert world.server.patches == []
        world.lease[0] = True
        await asyncio.sleep(2)
        assert len(world.server.patches) == 1
        await world.stop()

    virtual(main)


@pytest.mark.parametrize("failure", [Missing("gone"), Retry("down")])
def test_stop_does_not_wait_for_a_back_off(virtual, failure):
    async def main():
        world = World()
        world.server.failures = [failure] * 100
        world.status.report([READY], {})
        await asyncio.sleep(100)
        began = asyncio.get_running_loop().time()
        await world.stop()
        return asyncio.get_running_loop().time() - began

    assert virtual(main) == 0


def test_an_answer_that_comes_after_a_newer_watch_event_does_not_hide_it(virtual):
    async def main():
        world = World()
        write = world.server.write

        async def overtaken(patch):
            answer = await write(patch)
            if len(world.server.patches) == 1:  # an edit, and its watch event, before our answer arrives
                world.server.object["metadata"]["generation"] = 4
                world.server.bump()
                world.status.seen(world.server.view())
            return answer

        world.status._write = overtaken
        world.status.report([READY], {})
        await asyncio.sleep(5)
        assert world.server.object["status"]["observedGeneration"] == 4
        world.status.report([READY], {"slurmVersion": "24.11.5"})
        await asyncio.sleep(5)
        assert world.server.object["status"]["slurmVersion"] == "24.11.5"
        assert len(world.server.patches) == 3, "no write was refused"
        await world.stop()

    virtual(main)


def test_an_answer_whose_spec_nests_without_end_ends_nothing(virtual):
    async def main():
        world = World()
        write = world.server.write

        async def deep(patch):
            return (await write(patch)).replace(
                b'"spec":{}', b'"spec":{"x":%b%b}' % (b"[" * 5000, b"]" * 5000)
            )

        world.status._write = deep
        world.status.report([READY], {})
        await asyncio.sleep(5)
        world.status.report([READY], {"slurmVersion": "24.11.5"})
        await asyncio.sleep(5)
        assert world.server.object["status"]["slurmVersion"] == "24.11.5"
        await world.stop()

    virtual(main)


def test_a_watch_event_older_than_our_own_write_is_no_news(virtual):
    async def main():
        world = World()
        before = world.server.view()
        world.status.report([READY], {})
        await asyncio.sleep(5)
        world.status.seen(before)
        await asyncio.sleep(5)
        assert len(world.server.patches) == 1
        await world.stop()

    virtual(main)


def test_an_object_made_anew_under_the_same_name_gets_its_status(virtual):
    async def main():
        world = World()
        world.status.report([READY], {"slurmVersion": "x"})
        await asyncio.sleep(5)
        anew = Server()
        anew.object["metadata"] |= {"uid": "u2", "resourceVersion": "1"}
        world.server.object = anew.object
        world.status.seen(world.server.view())
        await asyncio.sleep(5)
        assert world.server.object["status"]["slurmVersion"] == "x"
        assert world.server.condition("Ready")["status"] == "True"
        await world.stop()

    virtual(main)


async def test_every_condition_has_what_the_crd_requires_an_empty_message_included():
    """A real API server refuses the whole status else, with 422."""
    crd = yaml.safe_load((PROJECT / "api/crds/workloadmixings.yaml").read_text())
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    required = schema["properties"]["status"]["properties"]["conditions"]["items"]["required"]
    world = World()
    world.status.report([READY], {})
    patch = world.status.pending()
    await world.stop()

    assert patch is not None
    for condition in patch.patch["status"]["conditions"]:
        assert set(required) <= condition.keys()
