"""What Python runs: the packages that uv.lock pins, then the project; compiled, as nobody can write later."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from image.rootfs import PYTHON

PROJECT = Path(__file__).parent.parent
PACKAGES = Path(f"usr/local/lib/python{PYTHON}/dist-packages")
COMMAND = Path("usr/local/bin/k8s-bridge")
EXPORT = ("export", "--frozen", "--no-dev", "--no-emit-project", "--quiet")
"""uv's words for what is needed at run time; the format is to be added."""

_STANDARD_LIBRARY = Path(f"usr/lib/python{PYTHON}")
_LAUNCHER = f"""#!/usr/bin/python{PYTHON}
from k8s_bridge.cli.main import main

main()
"""


def install_locked(target: Path) -> None:
    """Install what uv.lock pins for run time, each wheel by its hash, and compile all there is."""
    requirements = uv(*EXPORT, "--format=requirements.txt")
    _install(target, "--require-hashes", "--only-binary=:all:", "--requirements=-", stdin=requirements)
    _compile(target, _STANDARD_LIBRARY, PACKAGES)


def install_project(target: Path) -> None:
    """Install the project and its command."""
    _install(target, "--reinstall-package=k8s-bridge", str(PROJECT))
    for name in ("direct_url.json", "uv_cache.json"):  # the builder's folders and times are nobody's business
        for told in (target / PACKAGES).glob(f"k8s_bridge-*.dist-info/{name}"):
            told.unlink()
    _compile(target, PACKAGES / "api", PACKAGES / "k8s_bridge")
    launcher = target / COMMAND
    launcher.parent.mkdir(parents=True, exist_ok=True)
    launcher.write_text(_LAUNCHER, encoding="ascii")
    launcher.chmod(0o755)


def uv(*args: str, stdin: str = "") -> str:
    """What uv says, in the project."""
    program = shutil.which("uv") or str(PROJECT / ".tools/bin/uv")
    done = subprocess.run(
        [program, *args], input=stdin, stdout=subprocess.PIPE, text=True, check=True, cwd=PROJECT
    )
    return done.stdout


def _install(target: Path, *what: str, stdin: str = "") -> None:
    where = (f"--target={target / PACKAGES}", f"--python-version={PYTHON}")
    uv("pip", "install", "--quiet", "--no-deps", "--link-mode=copy", *where, *what, stdin=stdin)
    shutil.rmtree(target / PACKAGES / "bin", ignore_errors=True)  # scripts for the Python that runs here
    (target / PACKAGES / ".lock").unlink(missing_ok=True)


def _compile(target: Path, *folders: Path) -> None:
    """By the image's own Python; the code never asks for the time of its source, which a layer may change."""
    argv = [f"/usr/bin/python{PYTHON}", "-m", "compileall", "-q", "--invalidation-mode=unchecked-hash"]
    subprocess.run(["chroot", str(target), *argv, *(f"/{folder}" for folder in folders)], check=True)
