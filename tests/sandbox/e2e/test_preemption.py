from __future__ import annotations

from support.e2e.preemption import *  # noqa: F403
