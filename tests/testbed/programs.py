"""The Go programs, built once from pinned modules and kept in the cache by the sums of those modules."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.places import CACHE, HERE
from testbed.shell import Failed, run, say

_KUBERNETES = "v1.35.3"
_MODULES = HERE / "go"
_ETCD = "go.etcd.io/etcd/server/v3"
_VERSION_VARIABLES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
_TELL_EVERY = 20.0
_GO = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly"}


def folder() -> Path:
    """Where this version's programs and images are, or will be."""
    digest = hashlib.sha256()
    for path in sorted(_MODULES.glob("*/go.*")):
        digest.update(path.read_bytes())
    return CACHE / digest.hexdigest()[:16]


def binaries() -> Path:
    """Folder of the programs."""
    return folder() / "bin"


def chart(name: str) -> Path:
    """The Helm chart of Kueue or JobSet, in the folder of its pinned module."""
    ours = _MODULES / ("jobset" if name == "jobset" else "kube")
    found = run("go", "-C", ours, "list", "-m", "-f", "{{.Dir}}", f"sigs.k8s.io/{name}", env=_GO)
    return Path(found.strip()) / "charts" / name


def build() -> None:
    """Build what is missing. Raises Failed. Cold: about 14 minutes on two idle cores."""
    if not shutil.which("go"):
        raise Failed("no Go toolchain here: the testbed builds Kubernetes and Kueue from source")
    with lock("build"):
        if binaries().exists():
            return
        partial = folder() / "partial"
        partial.mkdir(parents=True, exist_ok=True)
        _go_build("etcd", partial / "etcd", _ETCD)
        # JobSet needs an older controller-runtime than Kueue, so it is a module of its own.
        _go_build("jobset", f"{partial}/", "tool")
        _go_build("kube", f"{partial}/", "tool")
        partial.rename(binaries())


@contextmanager
def lock(name: str) -> Iterator[None]:
    """One at a time on this machine; whoever waits is told so."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another {name} of the testbed is under way: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _go_build(module: str, target: Path | str, package: str) -> None:
    """Run `go build`, and tell now and then how many packages it has compiled."""
    argv = ["nice", "-n", "19", "go", "build", "-v", "-p", "2", "-trimpath", "-ldflags", _flags()]
    building = subprocess.Popen(
        [*argv, "-o", str(target), package],
        cwd=_MODULES / module,
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
