"""The Go programs, built once from pinned modules; each module's are kept in the cache by its own sums."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from testbed.locks import lock
from testbed.places import CACHE, HERE
from testbed.shell import Failed, run, say

_KUBERNETES = "v1.35.3"
_SOURCES = HERE / "go"
_MAIN = "kube"
_PACKAGES: Mapping[str, str] = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "coredns": "testbed.example/coredns",
    "jobset": "sigs.k8s.io/jobset",
    "kuberay": "github.com/ray-project/kuberay/ray-operator",
    _MAIN: "tool",
}
"""What is built of each module, smallest first. All but one make the program that they are named after.

They are modules of their own because they need other versions of some libraries. What can be of
the version that `kube` has is of that version: then it is compiled once for all.
"""
_VERSION_VARIABLES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
_TELL_EVERY = 20.0
_GO = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly"}


def program(name: str) -> Path:
    """Where a program is, or will be."""
    return folder(name if name in _PACKAGES else _MAIN) / name


def folder(module: str = _MAIN) -> Path:
    """Where the programs of a module are; another version of it is another folder."""
    digest = hashlib.sha256()
    for path in sorted((_SOURCES / module).iterdir()):
        digest.update(path.read_bytes())
    return CACHE / "programs" / f"{module}-{digest.hexdigest()[:16]}"


def source(package: str, *, module: str = _MAIN) -> Path:
    """The sources of a Go module that `module` requires: charts and manifests are read there."""
    found = run("go", "-C", _SOURCES / module, "list", "-m", "-f", "{{.Dir}}", package, env=_GO)
    return Path(found.strip())


def build() -> None:
    """Build what is missing. Raises Failed. Cold: about ten minutes on two cores."""
    if not shutil.which("go"):
        raise Failed("no Go toolchain here: the testbed builds Kubernetes and Kueue from source")
    for module in _PACKAGES:
        if not folder(module).exists():
            with lock(f"build-{module}"):
                _build(module)


def _build(module: str) -> None:
    done = folder(module)
    if done.exists():
        return
    partial = done.with_suffix(".partial")
    partial.mkdir(parents=True, exist_ok=True)
    _go_build(module, f"{partial}/" if module == _MAIN else partial / module)
    partial.rename(done)


def _go_build(module: str, target: Path | str) -> None:
    """Run `go build`, and tell now and then how many packages it has compiled."""
    argv = ["nice", "-n", "19", "go", "build", "-v", "-p", "2", "-trimpath", "-ldflags", _flags()]
    building = subprocess.Popen(
        [*argv, "-o", str(target), _PACKAGES[module]],
        cwd=_SOURCES / module,
        env=os.environ | _GO,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert building.stderr is not None
    say(f"building {module}")
    lines, told = [], time.monotonic()
    for line in building.stderr:
        lines.append(line)
        if time.monotonic() - told > _TELL_EVERY:
            told = time.monotonic()
            say(f"building {module}: {len(lines)} packages so far")
    if building.wait():
        raise Failed(f"go build of {module} failed:\n{''.join(lines[-20:])}")


def _flags() -> str:
    """Linker flags: small programs, and the version that kubelets and clients tell."""
    major, minor, _ = _KUBERNETES.removeprefix("v").split(".")
    values = {"gitVersion": _KUBERNETES, "gitMajor": major, "gitMinor": minor}
    pairs = [
        f"-X {package}.{name}={value}" for package in _VERSION_VARIABLES for name, value in values.items()
    ]
    return " ".join(["-s -w", *pairs])
