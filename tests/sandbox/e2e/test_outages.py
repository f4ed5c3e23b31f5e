from __future__ import annotations

from support.e2e.outages import *  # noqa: F403
