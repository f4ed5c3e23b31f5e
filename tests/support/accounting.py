"""slurmdbd and its database beside a real cluster that runs: associations and their limits, as on big sites.

For Slurm of the host's own release, whose packages slurmdbd and mariadb-server have to be installed.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from k8s_bridge.sandbox.slurm_real import RealSlurm
from k8s_bridge.sandbox.slurm_real.network import free_port
from k8s_bridge.sandbox.slurm_real.process import MARKER, Process
from k8s_bridge.sandbox.slurm_real.world import INSIDE, PATH

_TRIES, _PAUSE = 300, 0.1
_GRACE = 5.0

_SLURMDBD = """\
AuthType=auth/munge
AuthInfo=socket={inside}/munge/socket
DbdHost=localhost
DbdPort={port}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=accounting
PidFile={inside}/run/slurmdbd.pid
"""
_SLURM = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={port}
AccountingStoragePass={inside}/munge/socket
AccountingStorageEnforce=limits,qos
"""


def missing() -> str:
    """Why there can be no accounting here; "" when there can."""
    names = [name for name in ("mariadbd", "mariadb-install-db", "slurmdbd") if not shutil.which(name)]
    hint = "apt-get install --no-install-recommends mariadb-server slurmdbd"
    return (
        f"{', '.join(names)} not installed; limits of associations are NOT tested ({hint})" if names else ""
    )


@asynccontextmanager
async def accounting(slurm: RealSlurm, *, user: str, limits: tuple[str, ...]) -> AsyncIterator[None]:
    """Both of them, with an association of `user`; slurmctld begins again with it."""
    started: list[Process] = []
    try:
        await _start(slurm, started)
        for words in (("cluster", "sandbox"), ("account", "lab"), ("user", user, "account=lab", *limits)):
            await slurm.world.run("sacctmgr", "--immediate", "add", *words)
        await slurm.restart_controller()
        yield
    finally:
        for process in reversed(started):
            await process.stop(grace=_GRACE)


async def _start(slurm: RealSlurm, started: list[Process]) -> None:
    port, etc = free_port(), slurm.world.directory / "etc"
    started.append(await _start_database(slurm))
    conf = etc / "slurmdbd.conf"
    conf.write_text(_SLURMDBD.format(inside=INSIDE, port=port))
    conf.chmod(0o600)
    started.append(_spawn(slurm, "slurmdbd", f"MYSQL_UNIX_PORT={INSIDE}/run/db.sock", "slurmdbd", "-D"))
    with (etc / "slurm.conf").open("a") as file:
        file.write(_SLURM.format(inside=INSIDE, port=port))
    await _until_answers(slurm, "sacctmgr", "--noheader", "list", "cluster")


async def _start_database(slurm: RealSlurm) -> Process:
    data = slurm.world.directory / "db"
    await asyncio.to_thread(data.mkdir)
    await slurm.world.run(
        "mariadb-install-db", "--no-defaults", f"--datadir={INSIDE}/db", "--user=root", "--skip-test-db"
    )
    process = _spawn(
        slurm, "mariadbd", "LC_ALL=C", "mariadbd", "--no-defaults", f"--datadir={INSIDE}/db", "--user=root",
        f"--socket={INSIDE}/run/db.sock", "--skip-networking", "--skip-grant-tables",
        "--innodb-buffer-pool-size=64M",
    )  # fmt: skip
    await _until_answers(slurm, "test", "-S", f"{INSIDE}/run/db.sock")
    return process


def _spawn(slurm: RealSlurm, name: str, variable: str, *argv: str) -> Process:
    env = {"PATH": PATH, MARKER: str(slurm.world.directory)}
    command = (slurm.world.enter, "env", variable, *argv)
    return Process.spawn(name, argv=command, env=env, log=slurm.world.log(name))


async def _until_answers(slurm: RealSlurm, *argv: str) -> None:
    """Until the command ends well; its last words otherwise."""
    for attempt in range(_TRIES):
        try:
            await slurm.world.run(*argv)
        except RuntimeError:
            if attempt == _TRIES - 1:
                raise
            await asyncio.sleep(_PAUSE)
        else:
            return
