"""`python3 -m image base | app ROOTFS`: base makes the folder, app adds the project itself.

Two steps, so that a builder need not repeat the first when only the project has changed. Needs mmdebstrap, uv
and the right to chroot; only the standard library is imported.
"""

from __future__ import annotations

import sys
from pathlib import Path

from image import python, rootfs, sbom


def main(step: str, folder: str) -> None:
    """Do one step."""
    target = Path(folder).absolute()
    if step == "base":
        rootfs.make(target)
        python.install_locked(target)
    elif step == "app":
        python.install_project(target)
        sbom.write(target)
    else:
        raise SystemExit(__doc__)


main(*sys.argv[1:])
