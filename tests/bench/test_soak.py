"""A soak of seconds, with the bridge as a process: it finds nothing wrong, and it would tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import soak
from bench.soak import Soak, report
from k8s_bridge.sandbox.world import Verdict


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_nothing_is_lost(tmp_path: Path):
    seen = await soak.soak(directory=tmp_path, seconds=20.0, rate=60.0, seed=1)
    told = "\n".join(report(seen, seconds=20.0))
    assert not seen.failed, told
    assert seen.jobs >= 15
    assert sum(seen.begun.values()) >= 3
    assert all(size > 10 for _, _, size in seen.memory)
    assert f"{seen.jobs} jobs in 20 s" in told


@pytest.mark.parametrize(
    "seen",
    [
        Soak(lost={7: "PENDING"}),
        Soak(trouble="not within 1200 s"),
        Soak(verdicts=[Verdict(name="one", holds=False, evidence="two")]),
    ],
    ids=["lost", "never quiet", "invariant"],
)
def test_what_is_wrong_is_told_and_fails(seen: Soak):
    seen.memory = [(float(second), 1, 70.0) for second in range(20)]
    assert seen.failed
    told = "\n".join(report(seen, seconds=60.0))
    assert any(text in told for text in ("job 7: PENDING", "not within 1200 s", "BROKEN one: two"))


def test_the_slope_is_that_of_the_last_process_once_it_is_warm():
    before = [(float(at), 1, 90.0) for at in range(0, 300, 5)]
    warming = [(float(at), 2, 60.0 + at / 30) for at in range(300, 600, 5)]
    after = [(float(at), 2, 80.0 + at / 3600) for at in range(600, 1200, 5)]
    seen = Soak(memory=[*before, *warming, *after])
    assert seen.slope == pytest.approx(1.0)
    assert "+1.0 MiB an hour" in "\n".join(report(seen, seconds=1200.0))
