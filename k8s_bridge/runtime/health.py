"""Is this process of use? Liveness asks every loop; readiness asks whether the process has started."""

from __future__ import annotations

from collections.abc import Callable


class Health:
    """Checks by name. A check returns "" or what is wrong."""

    def __init__(self) -> None:
        self._checks: dict[str, Callable[[], str]] = {}
        self._starting = "starting"

    def add(self, name: str, check: Callable[[], str]) -> None:
        """Ask `check` at each liveness probe from now on."""
        self._checks[name] = check

    def remove(self, name: str) -> None:
        """Ask no more; unknown names are fine."""
        self._checks.pop(name, None)

    def started(self) -> None:
        """From now on the process is ready: as leader or as a standby that can take over."""
        self._starting = ""

    def wrong(self) -> list[str]:
        """What is wedged: a restart would help. Slurm being down is none of it."""
        return [text for check in self._checks.values() if (text := check())]

    @property
    def unready(self) -> str:
        """Why the process is not ready; "" when it is."""
        return self._starting
