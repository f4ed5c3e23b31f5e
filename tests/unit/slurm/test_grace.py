"""What runs on capacity that is taken away: how long it may go on, and who is told."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import pytest
from support.job_world import PARTITION, World

from api.views import Pod
from k8s_bridge.slurm.decide import decide
from k8s_bridge.slurm.effects import Warn
from k8s_bridge.slurm.model import Node
from k8s_bridge.slurm.moves.grace import MARGIN, TOLD_WITHIN, signal_of
from k8s_bridge.slurm.unit import Seen, State, Unit

NOW = 5000.0
DRAINING = replace(PARTITION, drain_first=True)


def told(pod: Pod, *, ends: float) -> Pod:
    gone = datetime.fromtimestamp(ends, UTC)
    return msgspec.structs.replace(
        pod, metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp=gone)
    )


def evicted(*, comment: str = "", ends: tuple[float, ...] = (), **changes: object) -> Unit:
    """A job of two nodes that runs and that Kueue has just evicted; `ends`: when its pods are to end."""
    world = World()
    step(world)
    world.kueue_sees()
    world.kueue_admits()
    world.pods_are_made()
    world.pods_run()
    world.nodes_register()
    step(world)
    world.slurm_starts()
    world.kueue_evicts()
    assert world.job is not None
    world.job = msgspec.structs.replace(world.job, comment=comment)
    unit = world.unit(partition=DRAINING)
    pods = [told(pod, ends=end) for pod, end in zip(unit.pods, ends, strict=False)]
    seen = Seen(state=State.EVICTED, since=NOW)
    return replace(unit, pods=(*pods, *unit.pods[len(pods) :]), **{"seen": seen, **changes})


def step(world: World) -> None:
    for effect in decide(world.unit(), now=NOW).effects:
        world.carry_out(effect)


def names(unit: Unit, *, now: float = NOW) -> list[str]:
    return [type(effect).__name__ for effect in decide(unit, now=now).effects]


def draining(unit: Unit) -> Unit:
    nodes = tuple(Node(name=n.name, states=n.states | {"DRAIN"}, features=n.features) for n in unit.nodes)
    return replace(unit, nodes=nodes)


def test_without_being_asked_for_the_nodes_go_down_at_once():
    assert names(evicted(partition=PARTITION))[0] == "NodesDown"


def test_its_nodes_are_drained_and_its_owner_is_told_once():
    unit = evicted(comment="mine wm:signal=USR1", ends=(NOW + 30, NOW + 30))
    decision = decide(unit, now=NOW)
    warn, text = decision.effects
    assert isinstance(warn, Warn)
    assert (warn.signal, set(warn.nodes)) == ("USR1", {node.name for node in unit.nodes})
    assert text.text.startswith("k8s-bridge: Ending: preempted: ")
    assert decision.after == pytest.approx(30 - MARGIN)
    assert names(draining(unit)) == []


def test_it_goes_back_just_before_the_first_of_its_pods_ends():
    unit = draining(evicted(ends=(NOW + 30, NOW + 20)))
    assert names(unit, now=NOW + 20 - MARGIN - 0.1) == []
    assert names(unit, now=NOW + 20 - MARGIN)[:2] == ["NodesDown", "Rehold"]


def test_a_pod_that_has_ended_is_not_waited_for():
    unit = draining(evicted(ends=(NOW + 30, NOW + 30)))
    dead = msgspec.structs.replace(
        unit.pods[0], status=msgspec.structs.replace(unit.pods[0].status, phase="Failed")
    )
    assert names(replace(unit, pods=(dead, unit.pods[1])))[0] == "NodesDown"
    assert names(replace(unit, pods=unit.pods[1:]))[0] == "NodesDown"


def test_pods_that_nobody_tells_to_end_are_not_waited_for_without_end():
    unit = draining(evicted())
    assert names(unit, now=NOW + TOLD_WITHIN - 0.1) == []
    assert names(unit, now=NOW + TOLD_WITHIN)[0] == "NodesDown"


@pytest.mark.parametrize(
    ("comment", "signal"),
    [
        ("wm:signal=TERM", "TERM"),
        ("a, wm:signal=USR2; b", "USR2"),
        ("wm:signal=USR1 wm:signal=INT", "INT"),
        ("wm:signal=KILL", ""),
        ("wm:signal=9", ""),
        ("xwm:signal=TERM", ""),
        ("wm:signal=TERM&flags=FULL_JOB", ""),
        ("", ""),
    ],
)
def test_an_owner_chooses_among_signals_that_ask(comment: str, signal: str):
    assert signal_of(comment) == signal
