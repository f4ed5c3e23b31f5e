"""Container images as OCI archives, made from files: one layer each, not compressed."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from k8s_bridge.sandbox.slurm_real.config import GPU_DEVICES
from k8s_bridge.sandbox.slurm_real.rootfs import folder as slurm_folder
from testbed import programs
from testbed.places import SYSTEM
from testbed.shell import say

PAUSE = "testbed.local/pause:1"
BUSYBOX = "docker.io/library/busybox:stable"
KUEUE = "testbed.local/kueue:1"
JOBSET = "testbed.local/jobset:1"
SLURMD = "testbed.local/slurmd:24.11"
_NOBODY = "65532:65532"
_MEDIA = "application/vnd.oci.image"
_UNUSED = (
    "usr/share/doc",
    "usr/share/locale",
    "usr/share/man",
    "var/cache",
    "var/lib/apt",
    "proc",
    "sys",
    "dev",
)
_EPOCH = "2024-01-01T00:00:00Z"


def build() -> None:
    """Make the archives that are missing."""
    for name, (user, command) in _IMAGES.items():
        archive = _archive_of(name)
        if not archive.exists():
            say(f"making the image {name}")
            archive.parent.mkdir(exist_ok=True)
            partial = archive.with_suffix(".partial")
            _write(partial, name=name, user=user, command=command)
            partial.rename(archive)


def archives(node: int) -> list[Path]:
    """The archives that a node needs."""
    names = (PAUSE, KUEUE, JOBSET) if node == SYSTEM else (PAUSE, BUSYBOX, SLURMD)
    return [_archive_of(name) for name in names]


_IMAGES: Mapping[str, tuple[str, Sequence[str]]] = {
    PAUSE: ("", ("/bin/sleep", "infinity")),
    KUEUE: (_NOBODY, ("/manager",)),
    JOBSET: (_NOBODY, ("/manager",)),
    BUSYBOX: ("", ("/bin/sh",)),
    SLURMD: ("", ("/bin/bash",)),
}
"""User and command of each."""


def _archive_of(name: str) -> Path:
    return programs.folder() / "images" / f"{_short(name)}.tar"


def _short(name: str) -> str:
    return name.rpartition("/")[2].partition(":")[0]


def _write(archive: Path, *, name: str, user: str, command: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(dir=archive.parent) as place:
        layer = Path(place) / "layer.tar"
        with tarfile.open(layer, "w", format=tarfile.PAX_FORMAT) as tar:
            _fill(tar, name)
        _archive(archive, layer, name=name, config=_config(layer, user=user, command=command))


def _fill(tar: tarfile.TarFile, name: str) -> None:
    if name == SLURMD:
        for path in sorted(slurm_folder("24.11").iterdir()):
            tar.add(path, arcname=path.name, filter=_kept)
        for number in range(GPU_DEVICES):
            tar.addfile(tarfile.TarInfo(f"srv/dev/nvidia{number}"))
    elif name in (KUEUE, JOBSET):
        tar.add(programs.binaries() / _short(name), arcname="manager")
    else:
        tar.add(shutil.which("busybox") or "/bin/busybox", arcname="bin/busybox")
        for applet in ("sh", "sleep"):
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)


def _kept(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if any(entry.name == path or entry.name.startswith(f"{path}/") for path in _UNUSED) else entry


def _config(layer: Path, *, user: str, command: Sequence[str]) -> bytes:
    """The image's configuration. No two images may share it: containerd's CRI would mix them up."""
    config: dict[str, Any] = {
        "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
        "Entrypoint": list(command),
        "User": user,
    }
    return _json(
        {
            "architecture": "amd64",
            "os": "linux",
            "created": _EPOCH,
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer.read_bytes())]},
        }
    )


def _archive(archive: Path, layer: Path, *, name: str, config: bytes) -> None:
    data = layer.read_bytes()
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": f"{_MEDIA}.manifest.v1+json",
            "config": _descriptor(config, "config.v1+json"),
            "layers": [_descriptor(data, "layer.v1.tar")],
        }
    )
    entry = _descriptor(manifest, "manifest.v1+json") | {
        "annotations": {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
    }
    with tarfile.open(archive, "w") as tar:
        _add(tar, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        for blob in (data, config, manifest):
            _add(tar, f"blobs/sha256/{_digest(blob).removeprefix('sha256:')}", blob)
        _add(tar, "index.json", _json({"schemaVersion": 2, "manifests": [entry]}))


def _descriptor(blob: bytes, media: str) -> dict[str, Any]:
    return {"mediaType": f"{_MEDIA}.{media}", "digest": _digest(blob), "size": len(blob)}


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o644
    tar.addfile(info, io.BytesIO(data))
