from __future__ import annotations

from support.e2e.arrays import *  # noqa: F403
