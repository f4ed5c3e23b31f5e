from __future__ import annotations

from support.e2e.sharing import *  # noqa: F403
