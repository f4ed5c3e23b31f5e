"""The images of the testbed: what is in each, and which node starts with which."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
from pathlib import Path

from k8s_bridge.sandbox.slurm_real.config import GPU_DEVICES
from k8s_bridge.sandbox.slurm_real.rootfs import folder as slurm_folder
from testbed import oci, programs, ray_image
from testbed.oci import Image
from testbed.places import NODES, SYSTEM

PAUSE = "testbed.local/pause:1"
BUSYBOX = "docker.io/library/busybox:stable"
SLURMD = "testbed.local/slurmd:24.11"


def build() -> None:
    """Make the archives that are missing."""
    for node in NODES:
        archives(node)
    ray_image.archive()


def archives(node: int) -> list[Path]:
    """The archives of the images that a node has from its start."""
    pause = _busybox(PAUSE, "/bin/sleep", "infinity")
    if node == SYSTEM:
        images = [pause, *map(controller, ("kueue", "jobset", "kuberay", "coredns"))]
    else:
        images = [pause, _busybox(BUSYBOX, "/bin/sh"), _slurmd()]
    return [oci.archive(image) for image in images]


def controller(name: str) -> Image:
    """An image of one static program, which runs as nobody."""
    return Image(
        name=f"testbed.local/{name}:1",
        entry=("/manager",),
        layer=oci.file(programs.program(name), at="manager"),
        source=programs.program(name).parent.name,
        user="65532:65532",
    )


def debian(name: str, root: Path, *, entry: str = "/bin/bash", layer: oci.Layer | None = None) -> Image:
    """An image of a root folder; its list of packages tells when there is another one."""
    packages = root / "var/lib/dpkg/status"
    return Image(
        name=name,
        entry=(entry,),
        layer=layer or oci.tree(root),
        source=hashlib.sha256(packages.read_bytes()).hexdigest(),
    )


def _slurmd() -> Image:
    root = slurm_folder("24.11")

    def layer(tar: tarfile.TarFile) -> None:
        oci.tree(root)(tar)
        for number in range(GPU_DEVICES):
            tar.addfile(tarfile.TarInfo(f"srv/dev/nvidia{number}"))

    return debian(SLURMD, root, layer=layer)


def _busybox(name: str, *entry: str) -> Image:
    program = Path(shutil.which("busybox") or "/bin/busybox")

    def layer(tar: tarfile.TarFile) -> None:
        tar.add(program, arcname="bin/busybox")
        for applet in ("sh", "sleep", "nslookup"):
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)

    return Image(name=name, entry=entry, layer=layer, source=hashlib.sha256(program.read_bytes()).hexdigest())
