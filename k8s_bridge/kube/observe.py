"""What the Kubernetes side tells whoever counts: one class to override, no metrics library here."""

from __future__ import annotations

from k8s_bridge.core.effects import Event
from k8s_bridge.core.errors import BridgeError


class Observer:
    """Does nothing; metrics override what they want. Methods must be quick and must not raise."""

    def on_call(self, *, method: str, kind: str, code: int, seconds: float, size: int) -> None:
        """An HTTP call ended (a WATCH: began). `code` 0 means no answer; `size` is the body in bytes."""

    def on_malformed(self, *, kind: str, key: str, error: str) -> None:
        """An object could not be decoded and was left out; `key` is "" where not even that was readable."""

    def on_reflector_error(self, *, kind: str, error: BridgeError) -> None:
        """A list or watch failed and will be tried again."""

    def on_list(self, *, kind: str, items: int, seconds: float) -> None:
        """A complete listing went into the table."""

    def on_lease_error(self, *, error: BridgeError) -> None:
        """The lease could not be read or renewed this time; `held()` tells what that means."""

    def on_event_dropped(self, *, event: Event) -> None:
        """A Kubernetes Event was not written: too many for its object, or the API refused it."""
