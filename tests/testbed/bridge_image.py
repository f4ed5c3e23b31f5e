"""The bridge's own image, made without Docker by the steps of the Dockerfile."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from testbed import node, oci
from testbed.locks import lock
from testbed.oci import Image
from testbed.places import CACHE, PROJECT, WORKERS
from testbed.shell import Failed, run, say

REPOSITORY = "testbed.local/k8s-bridge"
_BASE = ("pyproject.toml", "uv.lock", "image")
_PROJECT = ("Dockerfile", "api", "k8s_bridge")
"""What each step makes the image from."""
_KEPT = 2 * 24 * 3600.0


def build() -> None:
    """Make its archive when there is none of this very source; what nobody made for days goes."""
    archive = oci.archive(image())
    archive.touch()
    for old in (*archive.parent.glob("k8s-bridge-*.tar"), *CACHE.glob("bridge-base-*")):
        if time.time() - old.stat().st_mtime > _KEPT:
            shutil.rmtree(old) if old.is_dir() else old.unlink()


def load() -> str:
    """Have it on all nodes for teams; its tag. Raises Failed when the source has changed since `build`."""
    made = image()
    archive = oci.place(made)
    if not archive.exists():
        raise Failed("the bridge's source is not what its image was made from: make testbed")
    for number in WORKERS:
        inside = ("nsenter", f"--target={node.first_process(number)}", "--mount")
        run(*inside, "ctr", "--namespace=k8s.io", "images", "import", archive)
    return made.name.rpartition(":")[2]


def image() -> Image:
    """The image; its tag is made from its source. Its files are made when its archive is missing."""
    digest = _digest(*_BASE, *_PROJECT)
    return Image(
        name=f"{REPOSITORY}:{digest}",
        entry=json.loads(said_in_dockerfile("ENTRYPOINT")),
        layer=_layer,
        source=digest,
        user=said_in_dockerfile("USER"),
    )


def said_in_dockerfile(instruction: str) -> str:
    """What the Dockerfile says last by this instruction."""
    lines = (PROJECT / "Dockerfile").read_text().splitlines()
    return [line.partition(" ")[2] for line in lines if line.startswith(f"{instruction} ")][-1]


def make(root: Path) -> None:
    """Make the root folder of the image, its lower part once for all."""
    shutil.copytree(_base(), root, symlinks=True)
    _step("app", root)


def _layer(tar: tarfile.TarFile) -> None:
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        root = Path(place) / "root"
        make(root)
        tar.add(root, arcname="")


def _base() -> Path:
    base = CACHE / f"bridge-base-{_digest(*_BASE)}"
    with lock(base.name):
        if not base.exists():
            say("making the lower part of the bridge's image")
            _step("base", base.with_suffix(".partial"))
            base.with_suffix(".partial").rename(base)
    base.touch()
    return base


def _step(step: str, root: Path) -> None:
    run("env", "-C", PROJECT, sys.executable, "-m", "image", step, root)


def _digest(*sources: str) -> str:
    digest = hashlib.sha256()
    for source in sources:
        top = PROJECT / source
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(b"%s\0%s\0" % (str(path.relative_to(PROJECT)).encode(), path.read_bytes()))
    return digest.hexdigest()[:12]
