"""The wrapper in a real bash, with a slurmd that writes down how it was called."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from k8s_bridge.sandbox.slurm_real.process import children
from k8s_bridge.slurm.jobset.conf import slurmd_arguments
from k8s_bridge.slurm.jobset.wrapper import COMMAND
from k8s_bridge.slurm.layout import Shape

SLURMD = """#!/bin/bash
[ -z "$STAY" ] || trap 'echo term >> "$OUT"; exit 0' TERM
printf '%s\\n' "$@" > "$OUT.new"; mv "$OUT.new" "$OUT"
while [ -n "$STAY" ]; do sleep 0.05; done
exit "$CODE"
"""
ENTRYPOINT = """#!/bin/bash
# As images have it: arguments are joined, and split again by a shell.
export SLURMD_OPTIONS="$*"
exec bash -c "exec slurmd -D $SLURMD_OPTIONS"
"""
ARGUMENTS = [
    "-D",
    "-Z",
    "-b",
    "-N",
    "pod-1",
    "--conf",
    "Features=nodes-for-7,fast CPUs=2 RealMemory=100 Gres=gpu:1",
    "--conf-server",
    "slurmctld:6817",
]


@pytest.fixture(params=["plain command", "entrypoint", "named entrypoint"])
def image(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The environment of a container of each kind of image."""
    files = {"slurmd": SLURMD}
    if request.param != "plain command":
        files["entrypoint.sh" if request.param == "entrypoint" else "start"] = ENTRYPOINT
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "OUT": str(tmp_path / "out"), "CODE": "0"}
    if request.param == "named entrypoint":
        environment["SLURMD_ENTRYPOINT"] = str(tmp_path / "start")
    return environment


async def start(environment: dict[str, str]) -> asyncio.subprocess.Process:
    shape = Shape(cpus=2, memory=100, gres=(("gpu", "", 1),))
    arguments = slurmd_arguments(shape, features=("nodes-for-7", "fast"), conf_server="slurmctld:6817")
    expanded = [argument.replace("$(POD_NAME)", "pod-1") for argument in arguments]
    return await asyncio.create_subprocess_exec(*COMMAND, *expanded, env=environment)


def written(environment: dict[str, str]) -> list[str]:
    """What slurmd wrote so far."""
    path = Path(environment["OUT"])
    return path.read_text().splitlines() if path.exists() else []


async def test_slurmd_gets_its_conf_as_one_argument(image: dict[str, str]) -> None:
    process = await start(image)
    await process.wait()
    assert written(image) == ARGUMENTS


@pytest.mark.parametrize(("code", "expected"), [("0", 1), ("3", 3)])
async def test_no_end_of_slurmd_is_a_success(image: dict[str, str], code: str, expected: int) -> None:
    process = await start(image | {"CODE": code})
    assert await process.wait() == expected


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a pid namespace, which root may")
@pytest.mark.parametrize(("grace", "word"), [("20", "step over"), ("1", "term")])
async def test_with_a_grace_steps_end_before_slurmd_is_told(tmp_path: Path, grace: str, word: str) -> None:
    """Whichever comes first: the end of the step, which lasts two seconds, or that of the grace."""
    steps = '{ (exec -a "slurmstepd: [7.batch]" sleep 2); echo "step over" >> "$OUT"; } &\n'
    slurmd = SLURMD.replace("#!/bin/bash\n", '#!/bin/bash\ncd "${OUT%/*}"\n' + steps)
    (tmp_path / "slurmd").write_text(slurmd)
    (tmp_path / "slurmd").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "OUT": str(tmp_path / "out"), "STAY": "1"}
    own = ("unshare", "--pid", "--fork", "--kill-child=KILL", "--mount-proc")
    process = await asyncio.create_subprocess_exec(
        *own, *COMMAND, "-N", "pod-1", env=environment | {"SLURMD_GRACE": grace}
    )
    async with asyncio.timeout(20):
        while not written(environment):  # noqa: ASYNC110 - a shell sets no event
            await asyncio.sleep(0.01)
        (wrapper,) = children(process.pid)
        os.kill(wrapper, signal.SIGTERM)
        await process.wait()
    first = next(line for line in written(environment) if line in {"term", "step over"})
    assert first == word


async def test_sigterm_reaches_slurmd_and_the_pod_still_fails(image: dict[str, str]) -> None:
    process = await start(image | {"STAY": "1"})
    async with asyncio.timeout(10):
        while not written(image):  # noqa: ASYNC110 - a shell sets no event
            await asyncio.sleep(0.01)
        os.kill(process.pid, signal.SIGTERM)
        assert await process.wait() == 1
    assert written(image)[-1] == "term"
