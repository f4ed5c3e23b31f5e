from __future__ import annotations

import asyncio
import time

import msgspec

from k8s_bridge.core.errors import Conflict, Retry, Terminal
from k8s_bridge.runtime.controller import Result


def results(rig, key):
    return [outcome.result for outcome in rig.outcomes if outcome.key == key]


def test_a_change_is_decided_and_carried_out_in_order(virtual, fake, rig, decided):
    async def main():
        world = rig(fake(plan={"7": decided("hold", "apply")}))
        world.start()
        await asyncio.sleep(1)
        await world.stop()
        return world

    world = virtual(main)
    assert world.controller.acted == [("7", "hold"), ("7", "apply")]
    assert results(world, "7") == [Result.VERDICT, Result.DONE, Result.DONE]
    assert world.controller.outcomes == world.outcomes


def test_the_first_failure_ends_the_pass_and_the_unit_comes_back(virtual, fake, rig, decided):
    failures = [Retry("slurmrestd is busy")]

    async def flaky(key, effect):
        if effect.text == "one" and failures:
            raise failures.pop()

    async def main():
        world = rig(fake(plan={"7": decided("one", "two")}, script=flaky))
        world.start()
        await asyncio.sleep(0.1)
        first = list(world.controller.acted)
        await asyncio.sleep(1)
        await world.stop()
        return first, world

    first, world = virtual(main)
    assert first == [("7", "one")]
    assert world.controller.acted == [("7", "one"), ("7", "one"), ("7", "two")]
    assert results(world, "7") == [Result.VERDICT, Result.RETRY, Result.DONE, Result.DONE]


def test_nothing_is_decided_before_every_source_is_synced(virtual, fake, rig, decided):
    async def main():
        world = rig(fake(plan={"7": decided("hold")}, why="jobs: no full answer yet"))
        world.start()
        world.queue.add("7")
        await asyncio.sleep(30)
        assert world.controller.decided == []
        assert world.loop.blocked == "jobs: no full answer yet"
        world.controller.why = ""
        world.loop.wake()
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)
        assert world.controller.decided == ["7"]
        await world.stop()
        return [(outcome.state, outcome.text) for outcome in world.outcomes if outcome.result is Result.GATE]

    assert virtual(main) == [("blocked", "jobs: no full answer yet"), ("open", "")]


def test_a_gate_that_opens_unannounced_is_noticed_within_a_tick(virtual, fake, rig, decided):
    async def main():
        world = rig(fake(plan={"7": decided("hold")}, why="starting"))
        world.start()
        await asyncio.sleep(5)
        world.controller.why = ""
        await asyncio.sleep(1.1)
        await world.stop()
        return world.controller.acted

    assert virtual(main) == [("7", "hold")]


def test_a_source_that_cannot_be_judged_blocks_and_says_so(virtual, fake, rig, decided):
    class Broken(fake):
        def blocked(self):
            raise KeyError("token")

    async def main():
        world = rig(Broken(plan={"7": decided("hold")}))
        world.start()
        await asyncio.sleep(5)
        await world.stop()
        return world

    world = virtual(main)
    assert world.controller.decided == []
    assert "token" in world.loop.blocked


def test_a_standby_decides_nothing_and_takes_over_everything(virtual, fake, rig, decided):
    async def main():
        world = rig(fake(plan={"7": decided("a"), "8": decided("b")}))
        world.lease[0] = False
        world.start()
        await asyncio.sleep(10)
        assert world.controller.decided == []
        world.lease[0] = True
        world.loop.wake()
        await asyncio.sleep(0.01)
        await world.stop()
        return world.controller.acted

    assert sorted(virtual(main)) == [("7", "a"), ("8", "b")]


def test_a_lease_lost_between_two_effects_stops_the_second(virtual, fake, rig, decided):
    async def main():
        world = rig(fake(plan={"7": decided("one", "two")}))

        async def lose(key, effect):
            world.lease[0] = False

        world.controller.script = lose
        world.start()
        await asyncio.sleep(5)
        await world.stop()
        return world

    world = virtual(main)
    assert world.controller.acted == [("7", "one")]
    assert results(world, "7") == [Result.VERDICT, Result.DONE, Result.FENCED]


def test_an_effect_whose_fact_no_longer_holds_is_not_carried_out(virtual, fake, rig, decided):
    async def main():
        world = rig(fake(plan={"7": decided("release")}, holds=False))
        world.start()
        await asyncio.sleep(0.01)
        await world.stop()
        return world

    world = virtual(main)
    assert world.controller.acted == []
    assert Result.STALE in results(world, "7")


def test_one_bad_unit_never_stops_another(virtual, fake, rig, decided):
    async def main():
        world = rig(fake(plan={"bad": ZeroDivisionError("a job nobody thought of")}), workers=1)
        world.start()
        await asyncio.sleep(1)
        world.controller.plan["good"] = decided("hold")
        world.queue.add("good")
        await asyncio.sleep(1)
        await world.stop()
        return world

    world = virtual(main)
    assert world.controller.acted == [("good", "hold")]
    bad = [outcome for outcome in world.outcomes if outcome.key == "bad"]
    assert {outcome.result for outcome in bad} == {Result.BUG}
    assert all(isinstance(outcome.error, ZeroDivisionError) for outcome in bad)
    assert 2 <= len(bad) <= 6, "it backs off"


def test_a_bug_in_act_is_told_as_one_and_backs_off(virtual, fake, rig, decided):
    async def broken(key, effect):
        raise AttributeError("nodes")

    async def main():
        world = rig(fake(plan={"7": decided("hold")}, script=broken))
        world.start()
        await asyncio.sleep(0.1)
        await world.stop()
        return world

    assert results(virtual(main), "7") == [Result.VERDICT, Result.BUG]


def test_a_terminal_failure_carries_its_reason_and_rests(virtual, fake, rig, decided):
    async def refuse(key, effect):
        raise Terminal("no WorkloadPriorityClass named gold", reason="PriorityClassMissing")

    async def main():
        world = rig(fake(plan={"7": decided("apply", reason="Creating")}, script=refuse))
        world.start()
        await asyncio.sleep(59)
        await world.stop()
        return world

    world = virtual(main)
    assert len(world.controller.acted) == 1
    assert world.outcomes[-1].reason == "PriorityClassMissing"
    assert world.outcomes[-1].text == "no WorkloadPriorityClass named gold"


def test_conflicts_are_tried_again_at_once_but_not_for_ever(virtual, fake, rig, decided):
    async def conflict(key, effect):
        raise Conflict("the object was changed")

    async def main():
        world = rig(fake(plan={"7": decided("apply")}, script=conflict))
        world.start()
        await asyncio.sleep(0.1)
        soon = len(world.controller.acted)
        await world.stop()
        return soon

    assert virtual(main) == 6


def test_a_hook_that_raises_costs_no_unit(virtual, fake, rig, decided):
    def broken(outcome):
        raise OSError("the log disk is full")

    async def main():
        told = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))
        world = rig(fake(plan={"7": decided("hold")}), hooks=(broken,))
        world.start()
        await asyncio.sleep(0.1)
        await world.stop()
        return world, told

    world, told = virtual(main)
    assert results(world, "7") == [Result.VERDICT, Result.DONE]
    assert any("hook failed" in text for text in told)


def test_a_verdict_is_told_when_it_changes_only(virtual, fake, rig, decided):
    async def main():
        world = rig(fake(plan={"7": decided(state="QUEUED", reason="Waiting", after=1)}))
        world.start()
        await asyncio.sleep(10.5)
        world.controller.plan["7"] = decided(state="ADMITTED")
        world.queue.add("7")
        await asyncio.sleep(0.01)
        await world.stop()
        return world

    world = virtual(main)
    assert len(world.controller.decided) == 12
    assert [outcome.state for outcome in world.outcomes if outcome.key == "7"] == ["QUEUED", "ADMITTED"]


def test_a_unit_that_is_gone_is_forgotten_and_told_of_only_if_it_was_before(virtual, fake, rig, decided):
    async def main():
        gone = msgspec.structs.replace(decided(state="DONE"), gone=True)
        world = rig(fake(plan={"a": decided(state="HELD"), "b": gone}))
        world.start()
        await asyncio.sleep(1)
        world.controller.plan["a"] = gone
        for key in ("a", "a", "b"):
            world.queue.add(key)
            await asyncio.sleep(1)
        world.controller.plan["a"] = decided(state="HELD")
        world.queue.add("a")
        await asyncio.sleep(1)
        await world.stop()
        return [(o.key, o.state) for o in world.outcomes if o.result is Result.VERDICT]

    assert virtual(main) == [("a", "HELD"), ("a", "DONE"), ("a", "HELD")]


def test_not_yet_waits_for_a_change(virtual, fake, rig):
    async def main():
        world = rig(fake(plan={"7": None}))
        world.start()
        await asyncio.sleep(200)
        before = len(world.controller.decided)
        world.queue.add("7")
        await asyncio.sleep(0.01)
        await world.stop()
        return before, len(world.controller.decided)

    assert virtual(main) == (1, 2)


def test_every_unit_is_looked_at_again_every_five_minutes(virtual, fake, rig, decided):
    async def main():
        world = rig(fake(plan={"7": decided()}))
        world.start()
        await asyncio.sleep(3 * 300 + 2)
        await world.stop()
        return len(world.controller.decided)

    assert virtual(main) == 4


def test_stop_lets_the_effect_under_way_finish_and_starts_nothing_new(virtual, fake, rig, decided):
    async def slow(key, effect):
        await asyncio.sleep(2)

    async def main():
        world = rig(fake(plan={"7": decided("one", "two"), "8": decided("x")}, script=slow), workers=1)
        world.start()
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        await world.stop()
        return world, asyncio.get_running_loop().time() - began

    world, seconds = virtual(main)
    assert world.controller.acted == [("7", "one")]
    assert results(world, "7") == [Result.VERDICT, Result.DONE, Result.FENCED]
    assert results(world, "8") == []
    assert seconds == 1


def test_stop_does_not_wait_longer_than_five_seconds(virtual, fake, rig, decided):
    async def hang(key, effect):
        await asyncio.sleep(1000)

    async def main():
        world = rig(fake(plan={"7": decided("one")}, script=hang))
        world.start()
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        await world.stop()
        await asyncio.sleep(0)
        return asyncio.get_running_loop().time() - began

    assert virtual(main) == 5


def test_a_hung_pass_and_a_deaf_loop_are_wedged_but_a_blocked_one_is_not(virtual, fake, rig, decided):
    async def hang(key, effect):
        await asyncio.sleep(130)

    async def main():
        hung = rig(fake(plan={"7": decided("one")}, script=hang))
        blocked = rig(fake(why="Slurm does not answer"))
        hung.start()
        blocked.start()
        await asyncio.sleep(119)
        assert hung.loop.wedged() == ""
        await asyncio.sleep(5)
        assert "one pass" in hung.loop.wedged()
        assert blocked.loop.wedged() == ""
        await asyncio.sleep(10)
        assert hung.loop.wedged() == "", "it recovered"
        await hung.stop()
        blocked.task.cancel()
        await asyncio.wait([blocked.task])
        blocked.loop._beat = asyncio.get_running_loop().time() - 31
        assert "heartbeat" in blocked.loop.wedged()

    virtual(main)


def test_at_most_as_many_passes_as_workers(virtual, fake, rig, decided):
    running, most = set(), []

    async def track(key, effect):
        assert key not in running
        running.add(key)
        most.append(len(running))
        await asyncio.sleep(1)
        running.discard(key)

    async def main():
        world = rig(fake(plan={str(n): decided("x") for n in range(20)}, script=track), workers=3)
        world.start()
        await asyncio.sleep(60)
        await world.stop()
        return len(world.controller.acted)

    assert virtual(main) == 20
    assert max(most) == 3


async def test_an_idle_loop_decides_within_a_millisecond_of_a_change(fake, rig, decided):
    world = rig(fake())
    world.start()
    await asyncio.sleep(0.01)
    delays = []
    for _ in range(200):
        began = time.perf_counter()
        world.queue.add("7")
        await asyncio.sleep(0)  # one turn of the event loop is all it may take
        assert world.controller.decided
        delays.append(time.perf_counter() - began)
        world.controller.decided.clear()
        await asyncio.sleep(0)
    await world.stop()
    assert sorted(delays)[len(delays) // 2] < 0.001


def test_every_unit_is_looked_at_when_a_gate_that_had_closed_opens_again(virtual, fake, rig, decided):
    async def main():
        world = rig(fake(plan={"7": decided()}))
        world.start()
        await asyncio.sleep(1)
        world.controller.why = "Slurm does not answer"
        await asyncio.sleep(10)
        world.controller.decided.clear()
        world.controller.why = ""
        await asyncio.sleep(1.1)
        await world.stop()
        return world.controller.decided

    assert virtual(main) == ["7"]
