"""Who serves what: of two WorkloadMixings that claim one partition of one Slurm cluster, the older serves it.

Knows nothing of Slurm: a cluster is any text that two mixings give for the same one. It sees the mixings of
this process only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

_ALWAYS = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one WorkloadMixing wants to serve. `created` is None for one from a file, which goes first."""

    cluster: str
    namespace: str
    partitions: frozenset[str]
    created: datetime | None


class Claims:
    """The claims of all running bridges, by `namespace/name`."""

    def __init__(self) -> None:
        self._claims: dict[str, Claim] = {}
        self._listeners: dict[str, Callable[[], None]] = {}

    def make(self, name: str, claim: Claim, *, on_change: Callable[[], None]) -> None:
        """Claim, in place of what `name` claimed before. `on_change` is called when others change theirs."""
        self._listeners[name] = on_change
        if self._claims.get(name) != claim:
            self._claims[name] = claim
            self._tell(name)

    def leave(self, name: str) -> None:
        """Tell `name` nothing more; what it claims stays claimed: a bridge that crashed comes back."""
        self._listeners.pop(name, None)

    def keep(self, names: Collection[str]) -> None:
        """Those not among `names` are gone for good, and so are their claims."""
        for name in [name for name in self._claims if name not in names]:
            self._listeners.pop(name, None)
            del self._claims[name]
            self._tell(name)

    def elsewhere(self, name: str) -> Mapping[str, str]:
        """The partitions of the cluster of `name` that others serve, each with who does."""
        mine = self._claims.get(name)
        if mine is None:
            return {}
        found = {partition: self._server(mine.cluster, partition) for partition in self._partitions(mine)}
        return {partition: server for partition, server in found.items() if server != name}

    def clusters(self, namespace: str) -> set[str]:
        """The clusters that one namespace's mixings serve."""
        return {claim.cluster for claim in self._claims.values() if claim.namespace == namespace}

    def _partitions(self, mine: Claim) -> set[str]:
        return {
            p for claim in self._claims.values() if claim.cluster == mine.cluster for p in claim.partitions
        }

    def _server(self, cluster: str, partition: str) -> str:
        claimants = (
            (claim.created or _ALWAYS, name)
            for name, claim in self._claims.items()
            if claim.cluster == cluster and partition in claim.partitions
        )
        return min(claimants)[1]

    def _tell(self, name: str) -> None:
        for other, listener in tuple(self._listeners.items()):
            if other != name:
                listener()
