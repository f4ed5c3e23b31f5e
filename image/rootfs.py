"""The system below Python: Debian packages, unpacked only. No shell, no package manager, one user.

Packages are not installed: the little that their scripts would have done and that Python needs is done here.
What each package is stays recorded in /var/lib/dpkg/status.d, where scanners look for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

SUITE = "bookworm"
PYTHON = "3.11"
PACKAGES = ("base-files", "ca-certificates", f"libpython{PYTHON}-stdlib", f"python{PYTHON}-minimal")
USER = 65532
STATUS = Path("var/lib/dpkg/status.d")
MIRROR_VARIABLE = "K8S_BRIDGE_DEBIAN_MIRROR"
"""URL of a Debian mirror. Unset: Debian's own, with security updates."""

_RECORD = (
    f'mkdir -p "$1/{STATUS}"; for deb in "$1"/var/cache/apt/archives/*.deb; do '
    f'dpkg-deb --field "$deb" >"$1/{STATUS}/$(dpkg-deb --field "$deb" Package)"; done'
)
_UNUSED = (
    *("bin", "boot", "dev", "home", "media", "mnt", "opt", "sbin", "srv"),
    *("etc/apt", "etc/cron.daily", "etc/dpkg", "etc/logrotate.d", "var/cache", "var/lib/apt", "var/log"),
    *("usr/games", "usr/include", "usr/lib/*/gconv", "usr/libexec", "usr/sbin", "usr/src"),
    *(f"usr/share/{name}" for name in ("bash-completion", "info", "lintian", "locale", "man", "perl5")),
)
_PASSWD = f"""\
root:x:0:0:root:/root:/sbin/nologin
nonroot:x:{USER}:{USER}:nonroot:/tmp:/sbin/nologin
"""
_OF_THE_BUILDER = ("etc/hostname", "etc/resolv.conf")
_FILES = {
    "etc/passwd": _PASSWD,
    "etc/group": f"root:x:0:\nnonroot:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
_CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"


def make(target: Path) -> None:
    """Make the folder anew."""
    shutil.rmtree(target, ignore_errors=True)
    _unpack(target)
    _prune(target)
    for path, text in _FILES.items():
        (target / path).write_text(text, encoding="ascii")
    _bundle_certificates(target)


def _unpack(target: Path) -> None:
    argv = [
        "mmdebstrap",
        "--variant=extract",
        "--mode=root",
        '--aptopt=APT::Install-Recommends "false"',
        f"--include={','.join(PACKAGES)}",
        f"--extract-hook={_RECORD}",
        SUITE,
        str(target),
        *filter(None, [os.environ.get(MIRROR_VARIABLE)]),
    ]
    subprocess.run(argv, check=True)


def _prune(target: Path) -> None:
    for pattern in _UNUSED:
        for path in target.glob(pattern):
            shutil.rmtree(path)
    for told in _OF_THE_BUILDER:
        (target / told).unlink(missing_ok=True)
    for program in (target / "usr/bin").iterdir():
        if program.name != f"python{PYTHON}":
            program.unlink()
    for document in (target / "usr/share/doc").rglob("*"):
        if document.name != "copyright" and not document.is_dir():
            document.unlink()


def _bundle_certificates(target: Path) -> None:
    authorities = sorted((target / "usr/share/ca-certificates").rglob("*.crt"))
    bundle = target / _CERTIFICATES
    bundle.parent.mkdir(parents=True, exist_ok=True)
    bundle.write_text("".join(path.read_text(encoding="ascii") for path in authorities), encoding="ascii")
