"""The three kinds of error that cross a border into the loop. Clients translate once, at their border."""

from __future__ import annotations


class BridgeError(Exception):
    """Base: an effect or a read did not succeed."""


class Retry(BridgeError):
    """Passing trouble: try again. `after` is the least delay in seconds; None leaves it to the back-off."""

    def __init__(self, text: str, *, after: float | None = None) -> None:
        super().__init__(text)
        self.after = after


class Conflict(BridgeError):
    """What was written against is no longer what is there: read again now, then decide again."""


class Terminal(BridgeError):
    """Trying the same again cannot help. `reason` is one CamelCase word for events and conditions."""

    def __init__(self, text: str, *, reason: str) -> None:
        super().__init__(text)
        self.reason = reason


class Missing(Terminal):
    """The object or job is certainly not there (404, "invalid job id"): often the wished-for end."""

    def __init__(self, text: str) -> None:
        super().__init__(text, reason="NotFound")
