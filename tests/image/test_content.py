"""What is in the image, and what is not."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from testbed import bridge_image
from testbed.places import PROJECT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SIZE = 120_000_000
USER = bridge_image.said_in_dockerfile("USER")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        pytest.skip("the image is made by root with mmdebstrap")
    folder: Path = tmp_path_factory.mktemp("image") / "root"
    bridge_image.make(folder)
    return folder


def files(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in root.rglob("*"):
        found = path.lstat()
        if stat.S_ISREG(found.st_mode):
            yield path, found


def run(root: Path, *argv: str) -> str:
    done = subprocess.run(
        ["chroot", f"--userspec={USER}", root, *argv], capture_output=True, text=True, check=True
    )
    return done.stdout


def bill(root: Path) -> dict[str, set[str]]:
    """Names in the bill of materials, by the kind of package."""
    found: dict[str, set[str]] = {"pypi": set(), "deb": set()}
    document = json.loads((root / "usr/share/k8s-bridge/sbom.cdx.json").read_text())
    assert document["bomFormat"] == "CycloneDX"
    for component in document["components"]:
        kind = component["purl"].removeprefix("pkg:").split("/")[0]
        found[kind].add(f"{component['name']}=={component['version']}")
    return found


def test_the_command_runs_as_nobody(root):
    assert run(root, "/usr/local/bin/k8s-bridge", "--version").startswith("k8s-bridge, version ")


def test_it_is_small(root):
    assert sum(found.st_size for _, found in files(root)) <= SIZE


def test_nothing_in_it_helps_an_intruder(root):
    programs = {
        path.name for path, found in files(root) if found.st_mode & stat.S_IXUSR and "bin" in path.parts
    }
    assert programs == {"python3.11", "k8s-bridge"}
    assert [path for path, found in files(root) if found.st_mode & (stat.S_ISUID | stat.S_ISGID)] == []
    assert [path for path, found in files(root) if found.st_uid or found.st_mode & stat.S_IWOTH] == []


def test_python_packages_are_those_of_the_lock_and_nothing_of_development(root):
    exported = subprocess.run(
        [
            "uv",
            "export",
            "--frozen",
            "--no-dev",
            "--no-emit-project",
            "--no-hashes",
            "--format=requirements.txt",
        ],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    locked = {line.split(" ;")[0] for line in exported.splitlines() if line[0] not in " #"}
    names = {name.split("==")[0] for name in locked}
    assert bill(root)["pypi"] == locked
    assert "pytest" not in names
    assert installed(root) == names | {"k8s-bridge"}


def installed(root: Path) -> set[str]:
    folders = (root / "usr/local/lib/python3.11/dist-packages").glob("*.dist-info")
    return {folder.name.split("-")[0].replace("_", "-").lower() for folder in folders}


def test_debian_packages_are_recorded_where_scanners_look(root):
    records = {path.name for path in (root / "var/lib/dpkg/status.d").iterdir()}
    assert {name.split("==")[0] for name in bill(root)["deb"]} == records
    assert {"libc6", "libssl3", "python3.11-minimal", "ca-certificates"} <= records


def test_nobody_learns_where_it_was_made(root):
    assert [path for path in ("hostname", "resolv.conf") if (root / "etc" / path).exists()] == []
    packages = root / "usr/local/lib/python3.11/dist-packages"
    assert [*packages.glob("*/direct_url.json"), *packages.glob("*/uv_cache.json")] == []
    for path, _ in files(packages / "k8s_bridge-0.1.0.dist-info"):
        assert str(PROJECT) not in path.read_text()


def test_certificates_of_the_world_are_trusted(root):
    code = "import ssl; print(len(ssl.create_default_context().get_ca_certs()))"
    assert int(run(root, "/usr/bin/python3.11", "-c", code)) > 100
