"""Files that a WorkloadMixing names: plain and small ones only.

Whoever writes one may name any path: a device never ends, a pipe that nobody writes to stops the process.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

LARGEST = 2**20
"""Bytes. A bundle of all public authorities has a quarter of it."""


def read(path: Path) -> bytes:
    """What is in the file. OSError, with its strerror, for what is no plain file or above LARGEST."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
        found = os.read(descriptor, LARGEST + 1)
    finally:
        os.close(descriptor)
    if len(found) > LARGEST:
        raise OSError(errno.EFBIG, f"it has more than {LARGEST} bytes", str(path))
    return found
