from __future__ import annotations

import pytest
from support.e2e import steps
from support.e2e.steps import *  # noqa: F403
from support.e2e.steps import output, submit

from k8s_bridge.sandbox.world import World

pytestmark = [steps.pytestmark, pytest.mark.testbed]

BITS = {
    "CHOWN": 0,
    "DAC_OVERRIDE": 1,
    "FOWNER": 3,
    "KILL": 5,
    "SETGID": 6,
    "SETUID": 7,
    "NET_ADMIN": 12,
    "SYS_ADMIN": 21,
    "SYS_NICE": 23,
}
"""The capabilities of an unprivileged slurmd, by their numbers in the kernel."""


async def test_a_step_of_root_has_no_more_capabilities_than_an_unprivileged_slurmd_needs(world: World):
    """And the container runtime's usual system calls only: Seccomp 2 is a filter."""
    job_id = await submit(world, step="grep -E 'CapBnd|CapEff|^Seccomp:' /proc/self/status | tr -d '\\t'")

    mask = f"{sum(1 << bit for bit in BITS.values()):016x}"
    assert await output(world, job_id) == [f"CapBnd:{mask}", f"CapEff:{mask}", "Seccomp:2"]
