"""The kubelet changes sysctls of the whole machine: they are kept, and put back."""

from __future__ import annotations

import json
from pathlib import Path

from testbed.locks import lock
from testbed.places import CACHE, RUN

_NAMES = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
_KEPT = CACHE / "sysctls.json"
_ROOT = Path("/proc/sys")


def keep() -> None:
    """Note the values of now, unless another testbed has changed them already."""
    with lock("sysctls"):
        if not _KEPT.exists():
            _KEPT.write_text(json.dumps({name: (_ROOT / name).read_text() for name in _NAMES}))


def restore() -> None:
    """Put back what `keep` noted, unless another testbed still needs what its kubelets have set."""
    with lock("sysctls"):
        others = [place for place in RUN.parent.glob("*") if place != RUN]
        if _KEPT.exists() and not others:
            for name, value in json.loads(_KEPT.read_text()).items():
                (_ROOT / name).write_text(value)
            _KEPT.unlink()
