"""Root folders with Debian's Slurm packages, built once by mmdebstrap and kept in the cache.

The mirror is the one that this host's apt is configured for.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PACKAGES = (
    "slurmctld",
    "slurmd",
    "slurmrestd",
    "slurm-client",
    "munge",
    "slurm-wlm-jwt-plugin",
    "slurm-wlm-basic-plugins",
)
MIRROR_VARIABLE = "K8S_BRIDGE_DEBIAN_MIRROR"


def folder(release: str) -> Path:
    """Where the root folder of a release lives."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "k8s-bridge" / f"slurm-{release}"


MOUNT_POINTS = ("etc/hosts",)
"""Files that a cluster's own are mounted over; a new root folder lacks them."""


def is_built(release: str) -> bool:
    """Whether the root folder is complete."""
    return (folder(release) / "usr/sbin/slurmrestd").exists()


def obstacle(release: str) -> str:
    """Why there is no root folder and none can be built, or ""."""
    if is_built(release) or mirror():
        return ""
    return f"no root folder {folder(release)}, and apt knows no Debian mirror (set {MIRROR_VARIABLE})"


def build(release: str, *, suite: str) -> Path:
    """The root folder, built when it is missing (20 s). Raises RuntimeError with the tool's last words."""
    target = folder(release)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _lock(target.with_suffix(".lock")):
        if not is_built(release):
            bootstrap(target, suite=suite, packages=PACKAGES)
    return target


def bootstrap(target: Path, *, suite: str, packages: Sequence[str]) -> None:
    """A new root folder with these Debian packages; it appears when it is complete. Raises RuntimeError."""
    source = mirror()
    if not source:
        raise RuntimeError(f"apt knows no Debian mirror (set {MIRROR_VARIABLE})")
    if not shutil.which("mmdebstrap"):
        apt("install", "--yes", "--no-install-recommends", "mmdebstrap")
    partial = target.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    include = f"--include={','.join(packages)}"
    freshness = '--aptopt=Acquire::Check-Valid-Until "false"'
    _run("mmdebstrap", "--variant=minbase", "--mode=root", freshness, include, suite, str(partial), source)
    for mount_point in MOUNT_POINTS:
        path = partial / mount_point
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    partial.rename(target)


def mirror() -> str:
    """URL of a Debian mirror: the environment's choice, else the one of apt's configuration; "" if none."""
    if chosen := os.environ.get(MIRROR_VARIABLE):
        return chosen
    listing = _run(
        "apt-get", "indextargets", "--format", "$(ORIGIN) $(LABEL) $(REPO_URI)", "Created-By: Packages"
    )
    return next((line.split()[2] for line in listing.splitlines() if line.startswith("Debian Debian ")), "")


def apt(*args: str) -> None:
    """apt-get without questions. Raises RuntimeError with its last words."""
    _run("apt-get", "--quiet", *args)


def candidate(package: str) -> str:
    """major.minor of the version that apt would install, "" when it knows none."""
    lines = _run("apt-cache", "policy", package).splitlines()
    version = next((line.split()[1] for line in lines if "Candidate:" in line), "")
    return ".".join(version.split(".")[:2])


def _run(*argv: str) -> str:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env)  # noqa: S603 - argv is ours
    if done.returncode:
        raise RuntimeError(f"{argv[0]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
