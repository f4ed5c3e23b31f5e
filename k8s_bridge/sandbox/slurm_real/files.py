"""What a new cluster finds in its directory: configuration, keys, device files; no earlier state."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from k8s_bridge.sandbox.slurm_real.config import GPU_DEVICES, Conf, gres_conf, slurm_conf
from k8s_bridge.sandbox.slurm_real.release import Release

JWT_KEY = "etc/jwt_hs256.key"
_STATE = ("state", "spool", "munge", "run")


def forget(directory: Path) -> None:
    """Remove the state of an earlier run."""
    for name in _STATE:
        shutil.rmtree(directory / name, ignore_errors=True)


def write(directory: Path, *, conf: Conf, release: Release) -> None:
    """Fill the folders that World.create made."""
    (directory / "etc/slurm.conf").write_text(slurm_conf(conf))
    (directory / "etc/gres.conf").write_text(gres_conf(conf.inside))
    (directory / "etc/cgroup.conf").write_text(f"CgroupPlugin={release.cgroup_plugin}\n")
    write_secret(directory / "etc/munge.key", data=secrets.token_bytes(128))
    write_secret(directory / JWT_KEY, data=secrets.token_bytes(32))
    for number in range(GPU_DEVICES):
        (directory / f"dev/nvidia{number}").touch()


def write_secret(path: Path, *, data: bytes) -> None:
    """A file that only its owner can read."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(data)
