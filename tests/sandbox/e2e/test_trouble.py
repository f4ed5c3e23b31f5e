from __future__ import annotations

from support.e2e.trouble import *  # noqa: F403
