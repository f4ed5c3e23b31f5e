from __future__ import annotations

from support.e2e.het import *  # noqa: F403
