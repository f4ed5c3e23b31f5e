from __future__ import annotations

from support.e2e.grace import *  # noqa: F403
