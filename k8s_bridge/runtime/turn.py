"""Whose turn it is: what `GET /leader` answers. A standby knows no units; it can say who does."""

from __future__ import annotations

import msgspec


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """Whether this process leads, and who holds the lease; "" when nobody does, or there is none."""

    leads: bool
    leader: str = ""

    @property
    def pod(self) -> str:
        """The pod that leads: an identity is `pod_process_random`."""
        return self.leader.partition("_")[0]


ALONE = Turn(leads=True)
"""A process that takes no turns with others."""
