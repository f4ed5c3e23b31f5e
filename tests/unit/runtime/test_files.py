"""What a WorkloadMixing names as a file and is none: it neither fills memory nor stops the process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from k8s_bridge.core.errors import Terminal
from k8s_bridge.runtime import files
from k8s_bridge.slurm import credentials
from k8s_bridge.slurm.client import TokenSource


def trap(kind: str, folder: Path) -> Path:
    path = folder / "trap"
    match kind:
        case "device":
            return Path("/dev/zero")
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "large":
            path.write_bytes(b"x" * (files.LARGEST + 1))
    return path


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("device", "not a plain file"),
        ("pipe", "not a plain file"),
        ("folder", "not a plain file"),
        ("large", "more than 1048576 bytes"),
        ("nothing", "No such file"),
    ],
)
def test_neither_a_token_nor_a_bundle_is_read_of_it(kind: str, words: str, tmp_path: Path) -> None:
    path = trap(kind, tmp_path)
    with pytest.raises(Terminal, match=words):
        TokenSource.file(path).token()
    with pytest.raises(Terminal, match=words):
        credentials._read(str(path))


def test_a_file_as_large_as_may_be_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "bundle"
    path.write_bytes(b"x" * files.LARGEST)
    assert files.read(path) == path.read_bytes()
