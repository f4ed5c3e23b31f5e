from __future__ import annotations

import asyncio

import pytest

from k8s_bridge.core.errors import Retry
from k8s_bridge.slurm.client.gate import FAIR, Gate, Urgency


async def pass_through(gate: Gate, urgency: Urgency, name: object, order: list[object]) -> None:
    async with gate.slot(urgency):
        order.append(name)


async def queue_up(gate: Gate, *urgencies: Urgency) -> list[object]:
    """What goes through in which order when all came while the gate was taken."""
    order: list[object] = []
    async with gate.slot(Urgency.READ):
        waiting = [asyncio.create_task(pass_through(gate, u, u, order)) for u in urgencies]
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    return order


async def test_urgent_calls_overtake() -> None:
    order = await queue_up(Gate(slots=1, rate=0), *reversed(Urgency))
    assert order == list(Urgency)


async def test_equals_go_in_order_of_arrival() -> None:
    gate, order = Gate(slots=1, rate=0), []
    async with gate.slot(Urgency.READ):
        waiting = [asyncio.create_task(pass_through(gate, Urgency.TEXT, n, order)) for n in range(6)]
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    assert order == list(range(6))


async def test_who_waits_longest_is_not_starved_by_urgent_calls() -> None:
    order = await queue_up(Gate(slots=1, rate=0), Urgency.TEXT, *[Urgency.RELEASE] * 3 * FAIR)
    assert order.index(Urgency.TEXT) < FAIR


async def test_no_more_than_the_slots_are_inside_and_a_failure_gives_its_slot_back() -> None:
    gate, inside, most = Gate(slots=2, rate=0), 0, 0

    async def call(number: int) -> None:
        nonlocal inside, most
        async with gate.slot(Urgency.READ):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1
            if number % 2:
                raise ValueError

    await asyncio.gather(*(call(n) for n in range(10)), return_exceptions=True)
    assert (inside, most) == (0, 2)
    await queue_up(Gate(slots=1, rate=0), Urgency.READ)


async def test_the_rate_is_kept() -> None:
    gate, order = Gate(slots=4, rate=100), []
    loop = asyncio.get_running_loop()
    started = loop.time()
    await asyncio.gather(*(pass_through(gate, Urgency.READ, n, order) for n in range(11)))
    assert loop.time() - started >= 0.099


async def test_closing_turns_away_who_waits_and_who_comes() -> None:
    gate = Gate(slots=1, rate=0)
    async with gate.slot(Urgency.READ):
        waiting = asyncio.create_task(pass_through(gate, Urgency.READ, 1, []))
        await asyncio.sleep(0)
        gate.close()
        with pytest.raises(Retry):
            await waiting
    with pytest.raises(Retry):
        await pass_through(gate, Urgency.RELEASE, 1, [])
