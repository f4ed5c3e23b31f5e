"""The Slurm releases that can be run, where their programs come from, and whether this host can run them."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from k8s_bridge.sandbox.slurm_real import rootfs

_TOOLS = ("unshare", "nsenter", "setpriv", "mount", "chroot", "apt-get")
_HOST_PACKAGES = (
    "slurmctld",
    "slurmd",
    "slurmrestd",
    "slurm-client",
    "munge",
    "slurm-wlm-jwt-plugin",
    "iproute2",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One release of Slurm.

    `suite` is the Debian suite of its root folder, "" when the host's own packages are used.
    `shares_address`: many slurmds can live on one address, each with its own port.
    """

    name: str
    suite: str
    rest_plugin: str
    api_version: str
    cgroup_plugin: str
    shares_address: bool

    @property
    def root(self) -> Path:
        """The root folder that holds the programs."""
        return rootfs.folder(self.name) if self.suite else Path("/")


RELEASES = {
    "24.11": Release(
        name="24.11",
        suite="trixie",
        rest_plugin="openapi/slurmctld",
        api_version="v0.0.42",
        cgroup_plugin="disabled",
        shares_address=True,
    ),
    "22.05": Release(
        name="22.05",
        suite="",
        rest_plugin="openapi/v0.0.38",
        api_version="v0.0.38",
        cgroup_plugin="cgroup/v1",
        shares_address=False,
    ),
}


def available(name: str) -> str:
    """Why a cluster of this release cannot run here, or "" when it can (what is missing gets installed)."""
    release = RELEASES.get(name)
    if release is None:
        return f"Slurm {name} is not one of {', '.join(RELEASES)}"
    if os.geteuid() != 0:
        return "real Slurm daemons need root (mount namespaces)"
    missing = [tool for tool in _TOOLS if not shutil.which(tool)]
    if missing:
        return f"not installed here: {', '.join(missing)}"
    return rootfs.obstacle(release.name) if release.suite else _host_obstacle(release)


def installed(name: str) -> bool:
    """Whether the programs of a known release are here, so that a cluster starts without any download."""
    release = RELEASES[name]
    return rootfs.is_built(release.name) if release.suite else _host_ready(release)


def prepare(release: Release) -> None:
    """Make the release's programs available; raises RuntimeError with the reason when that fails."""
    if release.suite:
        rootfs.build(release.name, suite=release.suite)
    elif not _host_ready(release):
        rootfs.apt("install", "--yes", "--no-install-recommends", *_HOST_PACKAGES)


def _host_ready(release: Release) -> bool:
    return shutil.which("slurmrestd") is not None and _host_version() == release.name and _has_jwt()


def _host_obstacle(release: Release) -> str:
    if _host_ready(release):
        return ""
    version = _host_version() or rootfs.candidate("slurmctld")
    if version != release.name:
        return f"this host's Slurm is {version or 'missing'}, not {release.name}"
    return ""


def _host_version() -> str:
    if not shutil.which("slurmctld"):
        return ""
    out = subprocess.run(["slurmctld", "-V"], capture_output=True, text=True, check=True).stdout  # noqa: S607 - PATH is the host's choice
    return ".".join(out.split()[-1].split(".")[:2])


def _has_jwt() -> bool:
    return any(Path("/usr/lib").glob("*/slurm-wlm/auth_jwt.so"))
