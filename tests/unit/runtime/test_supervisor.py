from __future__ import annotations

import asyncio

from k8s_bridge.runtime.supervisor import Change, Supervisor


class Bridge:
    """Runs until stopped; `crash` makes `run` raise at once."""

    def __init__(self, mixing, world):
        self.world = world
        self.specs = [mixing]
        self.stopped = asyncio.Event()
        self.failure = asyncio.Event()
        world.built.append(self)

    @property
    def name(self):
        return self.specs[0][0]

    async def run(self):
        if self.name in self.world.broken:
            raise OSError("no token")
        self.world.running.add(self.name)
        stopped = asyncio.ensure_future(self.stopped.wait())
        failed = asyncio.ensure_future(self.failure.wait())
        await asyncio.wait({stopped, failed}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        failed.cancel()
        await asyncio.sleep(self.world.slow_end)
        self.world.running.discard(self.name)
        if self.failure.is_set():
            raise RuntimeError("crashed")

    def stop(self):
        self.stopped.set()

    def reload(self, mixing):
        if mixing[1] == "explode":
            raise ValueError("cannot")
        self.specs.append(mixing)


class World:
    def __init__(self):
        self.built, self.running, self.broken, self.reports = [], set(), set(), []
        self.slow_end = 0.0
        self.supervisor = Supervisor(
            lambda mixing: Bridge(mixing, self), report=self.reports.append, random=lambda: 0.5
        )

    def changes(self, name):
        return [report.change for report in self.reports if report.name == name]


def test_what_is_wanted_runs_and_what_is_not_ends(virtual):
    async def main():
        world = World()
        world.supervisor.want({"a": ("a", 1), "b": ("b", 1)})
        await asyncio.sleep(1)
        assert world.running == {"a", "b"}
        world.supervisor.want({"b": ("b", 1)})
        await asyncio.sleep(1)
        assert world.running == {"b"}
        await world.supervisor.stop()
        assert world.running == set()
        assert world.supervisor.names == ()
        assert world.changes("a") == [Change.STARTED, Change.STOPPED]

    virtual(main)


def test_another_spec_reloads_the_running_bridge_and_the_same_one_does_nothing(virtual):
    async def main():
        world = World()
        world.supervisor.want({"a": ("a", 1)})
        await asyncio.sleep(1)
        world.supervisor.want({"a": ("a", 1)})
        world.supervisor.want({"a": ("a", 2)})
        await asyncio.sleep(1)
        await world.supervisor.stop()
        assert len(world.built) == 1
        assert world.built[0].specs == [("a", 1), ("a", 2)]

    virtual(main)


def test_a_crash_restarts_one_bridge_with_back_off_and_touches_no_other(virtual):
    async def main():
        world = World()
        world.broken.add("bad")
        world.supervisor.want({"bad": ("bad", 1), "good": ("good", 1)})
        await asyncio.sleep(16)  # starts at 0, 1, 3, 7, 15 s
        assert world.changes("bad").count(Change.STARTED) == 5
        assert world.changes("good") == [Change.STARTED]
        assert world.running == {"good"}
        crash = next(report for report in world.reports if report.change is Change.CRASHED)
        assert isinstance(crash.error, OSError)
        assert "no token" in crash.text
        world.broken.clear()
        await asyncio.sleep(20)
        assert world.running == {"bad", "good"}
        await world.supervisor.stop()

    virtual(main)


def test_an_edit_tries_a_resting_bridge_at_once(virtual):
    async def main():
        world = World()
        world.broken.add("a")
        world.supervisor.want({"a": ("a", 1)})
        await asyncio.sleep(40)
        world.broken.clear()
        world.supervisor.want({"a": ("a", 2)})
        await asyncio.sleep(0.01)
        assert world.running == {"a"}
        assert world.built[-1].specs == [("a", 2)]
        await world.supervisor.stop()

    virtual(main)


def test_back_off_starts_over_after_a_long_good_run(virtual):
    async def main():
        world = World()
        world.broken.add("a")
        world.supervisor.want({"a": ("a", 1)})
        await asyncio.sleep(100)
        world.broken.clear()
        await asyncio.sleep(400)
        world.built[-1].failure.set()
        await asyncio.sleep(1.01)
        assert world.running == {"a"}, "one second after the first crash since long"
        await world.supervisor.stop()

    virtual(main)


def test_a_reload_that_fails_is_a_crash_of_that_bridge_alone(virtual):
    async def main():
        world = World()
        world.supervisor.want({"a": ("a", 1), "b": ("b", 1)})
        await asyncio.sleep(1)
        world.supervisor.want({"a": ("a", "explode"), "b": ("b", 2)})
        await asyncio.sleep(2)
        assert world.changes("a") == [Change.STARTED, Change.CRASHED, Change.STARTED]
        assert world.built[-1].specs == [("a", "explode")]
        assert world.changes("b") == [Change.STARTED, Change.RELOADED]
        await world.supervisor.stop()

    virtual(main)


def test_deleted_and_made_again_while_ending_never_runs_twice_at_once(virtual):
    async def main():
        world = World()
        world.slow_end = 3.0
        world.supervisor.want({"a": ("a", 1)})
        await asyncio.sleep(1)
        world.supervisor.want({})
        world.supervisor.want({"a": ("a", 2)})
        await asyncio.sleep(1)
        assert len(world.built) == 1
        await asyncio.sleep(5)
        assert len(world.built) == 2
        assert world.built[1].specs == [("a", 2)]
        await world.supervisor.stop()

    virtual(main)


def test_a_bridge_that_does_not_end_is_abandoned(virtual):
    async def main():
        world = World()
        world.slow_end = 1000.0
        world.supervisor.want({"a": ("a", 1)})
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        await world.supervisor.stop()
        return asyncio.get_running_loop().time() - began

    assert virtual(main) == 10


def test_a_factory_that_fails_is_a_crash(virtual):
    async def main():
        reports = []

        def factory(mixing):
            raise KeyError("secret")

        supervisor = Supervisor(factory, report=reports.append, random=lambda: 0.5)
        supervisor.want({"a": 1})
        await asyncio.sleep(0.5)
        await supervisor.stop()
        return [report.change for report in reports]

    assert virtual(main) == [Change.CRASHED, Change.STOPPED]


def test_an_edit_that_is_seen_after_the_stop_starts_nothing(virtual):
    async def main():
        world = World()
        world.supervisor.want({"a": ("a", 1)})
        await asyncio.sleep(1)
        await world.supervisor.stop()
        world.supervisor.want({"a": ("a", 2)})
        await asyncio.sleep(1)
        assert world.running == set()

    virtual(main)
