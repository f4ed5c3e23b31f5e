from __future__ import annotations

from support.e2e.many import *  # noqa: F403
