from __future__ import annotations

from support.e2e.life import *  # noqa: F403
