"""Where a cluster's programs run: in the release's root folder, the cluster's directory at a fixed path.

`bin/enter` in the directory is the one way in, for daemons, for client commands and for people; the mounts
live in a namespace of their own and go away with the process.
"""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

INSIDE = "/srv"
"""Where programs see the cluster's directory: there by the file system standard, and hardly ever in use."""
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
CLIENTS = ("sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun")
_FOLDERS = ("bin", "dev", "etc", "log", "munge", "run", "spool", "state")

_ENTER = """#!/bin/sh
# Runs a command where this cluster lives:  {directory}/bin/enter squeue
exec unshare --mount --propagation private sh -c '
  set -e; root=$1; inside=$2; directory=$3; there=$4; shift 4
  if [ "$root" != / ]; then
    for path in /dev /sys /tmp /home /root; do mount --rbind $path $root$path; done
    mount --bind "$directory/run" $root/run
  fi
  mount --bind "$directory/etc/hosts" $root/etc/hosts
  mount -t proc proc $root/proc
  mount --bind "$directory" $root$inside
  export SLURM_CONF=$inside/etc/slurm.conf PATH={path}
  if [ -d "$root$there" ]; then exec chroot $root env --chdir="$there" "$@"; else exec chroot $root "$@"; fi
' enter {root} {inside} {directory} "$PWD" "$@"
"""
_CLIENT = """#!/bin/sh
exec {directory}/bin/enter {client} "$@"
"""


class CommandFailed(RuntimeError):
    """A client command ended with an error; the text is what it wrote."""


class World:
    """Directory and root folder of one cluster."""

    def __init__(self, directory: Path, *, root: Path) -> None:
        self.directory = directory
        self.root = root
        self.enter = str(directory / "bin/enter")
        self._hosts = {"localhost": "127.0.0.1"}

    def create(self) -> None:
        """Write the folders and the wrapper scripts; all may enter, since slurmrestd runs as nobody."""
        for name in _FOLDERS:
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        self.directory.chmod(0o755)
        values = {
            "directory": shlex.quote(str(self.directory)),
            "root": self.root,
            "inside": INSIDE,
            "path": PATH,
        }
        self._script("enter", text=_ENTER.format(**values))
        for client in CLIENTS:
            self._script(client, text=_CLIENT.format(client=client, **values))

    def name(self, host: str, *, address: str) -> None:
        """Make `host` resolve to `address` inside: an unresolvable name stalls daemons for seconds."""
        self._hosts[host] = address
        lines = [f"{ip} {name}\n" for name, ip in self._hosts.items()]
        # In place: the file is mounted where programs run already.
        (self.directory / "etc/hosts").write_text("".join(lines))

    def log(self, name: str) -> Path:
        """Where a daemon's output goes."""
        return self.directory / "log" / f"{name}.log"

    async def run(self, *argv: str, user: str = "root", stdin: str = "") -> str:
        """The output of a client command, run as `user`; raises CommandFailed."""
        become = () if user == "root" else ("setpriv", f"--reuid={user}", "--clear-groups")
        process = await asyncio.create_subprocess_exec(
            self.enter,
            *become,
            *argv,
            cwd="/",
            env={"PATH": PATH, "SBATCH_OUTPUT": "/dev/null"},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate(stdin.encode())
        if process.returncode:
            raise CommandFailed(f"{argv[0]}: {(err or out).decode().strip()}")
        return out.decode()

    def _script(self, name: str, *, text: str) -> None:
        path = self.directory / "bin" / name
        path.write_text(text)
        path.chmod(0o755)
