"""Several reflectors as one thing to run and to ask whether it has synced."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from k8s_bridge.kube.reflector import Reflector


class Watches:
    """Reflectors by the name of what they list."""

    def __init__(self, reflectors: Mapping[str, Reflector[Any]]) -> None:
        self._reflectors = reflectors

    def missing(self) -> str:
        """The kinds that have not been listed yet; "" when all have."""
        return ", ".join(kind for kind, one in self._reflectors.items() if not one.synced.is_set())

    async def run(self) -> None:
        """Watch until `stop`."""
        await asyncio.gather(*(one.run() for one in self._reflectors.values()))

    def stop(self) -> None:
        """Make `run` return."""
        for one in self._reflectors.values():
            one.stop()
