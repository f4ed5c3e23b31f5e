"""What a decide function returns: the state, a text for people, effects as data, when to look again."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

E = TypeVar("E")


class Decision(msgspec.Struct, Generic[E], frozen=True, kw_only=True):
    """A verdict on one unit.

    `effects` are executed in order; the first failure ends the pass. `after` is the number of seconds
    until the unit must be looked at again even if nothing changes (None: only on change).
    `reason` is one CamelCase word, `text` a sentence for the user; both empty when there is nothing to say.
    `gone` units are forgotten: nothing of them is left here, and nobody has to be told who was not before.
    """

    state: str
    effects: tuple[E, ...] = ()
    after: float | None = None
    reason: str = ""
    text: str = ""
    gone: bool = False

    def also(self, *effects: E) -> Decision[E]:
        """The same with more effects, after its own."""
        return msgspec.structs.replace(self, effects=(*self.effects, *effects)) if effects else self
