"""The image of Ray: Debian's Python, and Ray's packages as they are locked beside this file."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
from pathlib import Path

from k8s_bridge.sandbox.slurm_real.rootfs import bootstrap
from testbed import oci
from testbed.places import CACHE, HERE, PROJECT
from testbed.shell import Failed, run, say

NAME = "testbed.local/ray:2.60"
VERSION = "2.60.0"
_SUITE, _PYTHON = "bookworm", "3.11"
_DEBIAN = ("python3", "procps", "wget")
"""KubeRay's probes call wget, Ray calls ps."""
_LOCK = HERE / "ray/requirements.txt"
_PACKAGES = Path(f"usr/local/lib/python{_PYTHON}/dist-packages")
_COMMAND = """#!/usr/bin/python3
import os
# Beside other tests, workers at Ray's own niceness of 15 would get next to nothing.
os.environ.setdefault("RAY_worker_niceness", "0")
from ray.scripts.scripts import main
main()
"""


def archive() -> Path:
    """The image's archive; made when it is missing, which takes half a minute. Raises Failed."""
    made_from = repr((_SUITE, _DEBIAN, _COMMAND)).encode() + _LOCK.read_bytes()
    image = oci.Image(
        name=NAME, entry=("/bin/bash",), layer=_layer, source=hashlib.sha256(made_from).hexdigest()
    )
    return oci.archive(image)


def _layer(tar: tarfile.TarFile) -> None:
    root = CACHE / "ray"
    shutil.rmtree(root, ignore_errors=True)
    say("making a root folder for Ray")
    bootstrap(root, suite=_SUITE, packages=_DEBIAN)
    say("installing Ray into it")
    _install(root)
    oci.tree(root)(tar)
    shutil.rmtree(root)


def _install(root: Path) -> None:
    uv = shutil.which("uv") or PROJECT / ".tools/bin/uv"
    if not Path(uv).exists():
        raise Failed("no uv here, which installs Ray into its image: make .tools/bin/uv")
    target = ("--target", root / _PACKAGES, "--only-binary", ":all:")
    platform = ("--python-version", _PYTHON, "--python-platform", "x86_64-manylinux_2_28")
    run(uv, "pip", "install", "--quiet", *target, *platform, "--require-hashes", "--requirement", _LOCK)
    # Every container would compile all of it anew.
    run("chroot", root, "python3", "-m", "compileall", "-q", f"/{_PACKAGES}")
    command = root / "usr/local/bin/ray"
    command.write_text(_COMMAND)
    command.chmod(0o755)
