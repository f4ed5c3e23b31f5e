from __future__ import annotations

from support.e2e.farewell import *  # noqa: F403
