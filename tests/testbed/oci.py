"""Container images as OCI archives in the cache, made from files: one layer each, not compressed."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.locks import lock
from testbed.places import CACHE
from testbed.shell import say

Layer = Callable[[tarfile.TarFile], None]
"""Fills the one layer of an image."""

_PLACE = CACHE / "images"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What an image is: its full name, what it runs as whom (`uid:gid`, "" for root), and its files.

    The name must look like one of a registry: containerd takes any other for one of Docker Hub.
    `source`: what the files are made from; another text is another image.
    """

    name: str
    entry: Sequence[str]
    layer: Layer
    source: str
    user: str = ""


def tree(root: Path) -> Layer:
    """A layer with everything in a root folder, but for what no container needs."""

    def fill(tar: tarfile.TarFile) -> None:
        for path in sorted(root.iterdir()):
            tar.add(path, arcname=path.name, filter=_kept)

    return fill


def file(path: Path, *, at: str) -> Layer:
    """A layer with one file, at this place below the root."""
    return lambda tar: tar.add(path, arcname=at)


def archive(image: Image) -> Path:
    """The image's archive in the cache, for `ctr images import`; made when it is missing."""
    path = place(image)
    if not path.exists():
        with lock(f"image-{path.stem.rpartition('-')[0]}"):
            _make(path, image)
    return path


def place(image: Image) -> Path:
    """Where the image's archive is, or will be."""
    short = image.name.rpartition("/")[2].partition(":")[0]
    return _PLACE / f"{short}-{hashlib.sha256(_identity(image)).hexdigest()[:16]}.tar"


def _identity(image: Image) -> bytes:
    return _json([image.name, *image.entry, image.user, image.source])


def _make(archive: Path, image: Image) -> None:
    if archive.exists():
        return
    say(f"making the image {image.name}")
    folder = archive.with_suffix(".partial")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    layer, whole = folder / "layer.tar", folder / "archive.tar"
    with tarfile.open(layer, "w", format=tarfile.PAX_FORMAT) as tar:
        image.layer(tar)
    with layer.open("rb") as data:
        digest = f"sha256:{hashlib.file_digest(data, 'sha256').hexdigest()}"
    _pack(whole, layer, digest=digest, image=image)
    whole.rename(archive)
    shutil.rmtree(folder)


def _kept(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if any(entry.name == path or entry.name.startswith(f"{path}/") for path in _UNUSED) else entry


def _pack(archive: Path, layer: Path, *, digest: str, image: Image) -> None:
    config = _config(image, digest)
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": f"{_MEDIA}.manifest.v1+json",
            "config": _descriptor(config, "config.v1+json"),
            "layers": [_described(digest, layer.stat().st_size, "layer.v1.tar")],
        }
    )
    names = {"io.containerd.image.name": image.name, "org.opencontainers.image.ref.name": image.name}
    entry = _descriptor(manifest, "manifest.v1+json") | {"annotations": names}
    with tarfile.open(archive, "w") as tar:
        _add(tar, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        tar.add(layer, arcname=_blob(digest))
        for data in (config, manifest):
            _add(tar, _blob(_digest(data)), data)
        _add(tar, "index.json", _json({"schemaVersion": 2, "manifests": [entry]}))


def _config(image: Image, layer: str) -> bytes:
    """The image's configuration. No two images may share it: containerd's CRI would mix them up."""
    config = {
        "Env": ["PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        "Entrypoint": list(image.entry),
        "User": image.user,
    }
    return _json(
        {
            "architecture": "amd64",
            "os": "linux",
            "created": _EPOCH,
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [layer]},
        }
    )


def _descriptor(blob: bytes, media: str) -> dict[str, Any]:
    return _described(_digest(blob), len(blob), media)


def _described(digest: str, size: int, media: str) -> dict[str, Any]:
    return {"mediaType": f"{_MEDIA}.{media}", "digest": digest, "size": size}


def _blob(digest: str) -> str:
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o644
    tar.addfile(info, io.BytesIO(data))
