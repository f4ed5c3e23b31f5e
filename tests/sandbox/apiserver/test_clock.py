from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from k8s_bridge.sandbox.clock import ManualClock, SystemClock, micro_stamp, parse_stamp, stamp

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


def test_stamps_are_what_the_api_writes_and_can_be_read_again():
    assert stamp(MOMENT) == "2026-01-02T03:04:05Z"
    assert micro_stamp(MOMENT) == "2026-01-02T03:04:05.000678Z"
    assert parse_stamp(micro_stamp(MOMENT)) == MOMENT


async def test_sleepers_of_a_manual_clock_wake_in_the_order_of_their_deadlines():
    clock, woken = ManualClock(), []

    async def sleeper(seconds):
        await clock.sleep(seconds)
        woken.append(seconds)

    tasks = [asyncio.create_task(sleeper(seconds)) for seconds in (3, 1, 2, 9)]
    await asyncio.sleep(0)
    clock.advance(3)
    await asyncio.gather(*tasks[:3])
    assert woken == [1, 2, 3]
    clock.advance(6)
    await tasks[3]
    await clock.sleep(0)


async def test_a_fast_clock_passes_more_time_than_it_takes():
    clock = SystemClock(speed=1000)
    begin = clock.now()
    await clock.sleep(5)
    assert clock.now() - begin >= timedelta(seconds=5)
