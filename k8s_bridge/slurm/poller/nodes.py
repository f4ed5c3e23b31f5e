"""Keeps the table of nodes up to date."""

from __future__ import annotations

from k8s_bridge.kube.store import Table
from k8s_bridge.slurm.client.port import SlurmReads
from k8s_bridge.slurm.client.results import Unchanged
from k8s_bridge.slurm.model import Node


class NodeMirror:
    """`refresh` is one cycle: everything, or the word that nothing changed."""

    def __init__(self, client: SlurmReads, table: Table[Node]) -> None:
        self.malformed = 0
        self._client = client
        self._table = table
        self._since: int | None = None

    def distrust(self) -> None:
        """Slurmctld may have been restarted: what it said of "since" counts no more."""
        self._since = None

    async def refresh(self) -> None:
        """Bring the table up to date. Rows stay while some nodes of the answer cannot be read.

        After an answer that may not be the whole truth, everything is asked for again: what was missing from
        it need not have changed since.
        """
        result = await self._client.nodes(self._since)
        if isinstance(result, Unchanged):
            return
        keep = bool(result.malformed)
        self._table.replace(result.items, keep=lambda _: keep)
        whole = result.items and not result.malformed
        self._since = result.last_update - 1 if whole and result.last_update else None
        self.malformed = result.malformed
