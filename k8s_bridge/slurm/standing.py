"""Where a WorkloadMixing stands among others: which partitions are not its own, and what its names need."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from api.v1alpha1 import WorkloadMixing
from api.views import JobSet
from k8s_bridge.core import naming
from k8s_bridge.core.errors import Terminal
from k8s_bridge.runtime.claims import Claim, Claims
from k8s_bridge.slurm.jobset.policy import UNNAMED, Cluster
from k8s_bridge.slurm.model import Ping

_NOT_DNS = re.compile(r"[^a-z0-9]+")
_SLUG, _HASH = 12, 4


class Standing:
    """Claims the partitions of one mixing once Slurm has said which cluster it is."""

    def __init__(self, claims: Claims, mixing: WorkloadMixing, *, on_change: Callable[[], None]) -> None:
        self._claims = claims
        self._mixing = mixing
        self._name = f"{mixing.metadata.namespace}/{mixing.metadata.name}"
        self._on_change = on_change
        self._ping: Ping | None = None

    @property
    def cluster(self) -> Cluster:
        """The cluster in names and labels; unnamed until it is known."""
        if self._ping is None:
            return UNNAMED
        crowded = len(self._claims.clusters(self._mixing.metadata.namespace)) > 1
        return Cluster(name=self._ping.cluster, key=_key(self._ping) if crowded else "")

    def elsewhere(self) -> Mapping[str, str]:
        """Partitions of this cluster that another mixing serves, each with who does."""
        return self._claims.elsewhere(self._name)

    def stranded(self, jobsets: Iterable[JobSet]) -> Terminal | None:
        """The trouble when JobSets of this mixing belong to another Slurm cluster than the one that answers.

        Their jobs may be running there: they are neither ours to delete, nor jobs of the same ids here.
        """
        here = naming.label_value(self.cluster.name)
        labels = (jobset.metadata.labels.get(naming.CLUSTER, here) for jobset in jobsets)
        others = Counter(label for label in labels if label != here) if here else None
        if not others:
            return None
        text = ", ".join(f"{count} of cluster {label}" for label, count in sorted(others.items()))
        why = f"this Slurm is cluster {here}, and there are JobSets made for jobs of another: {text}"
        cure = "point slurmRestURL back, or delete them when their jobs have ended"
        return Terminal(f"{why}; {cure}", reason="OtherCluster")

    def known(self, ping: Ping) -> None:
        """Slurm has said who it is."""
        self._ping = ping
        self._claim()

    def configure(self, mixing: WorkloadMixing) -> None:
        """Go on with another spec."""
        self._mixing = mixing
        if self._ping is not None:
            self._claim()

    def leave(self) -> None:
        """Listen no more."""
        self._claims.leave(self._name)

    def _claim(self) -> None:
        assert self._ping is not None
        meta = self._mixing.metadata
        claim = Claim(
            cluster=self._ping.identity,
            namespace=meta.namespace,
            partitions=frozenset(m.partition_name for m in self._mixing.spec.partition_mappings),
            created=meta.creation_timestamp,
        )
        self._claims.make(self._name, claim, on_change=self._on_change)


def _key(ping: Ping) -> str:
    slug = _NOT_DNS.sub("-", ping.cluster.lower()).strip("-")[:_SLUG].rstrip("-")
    digest = hashlib.sha256(ping.identity.encode()).hexdigest()[:_HASH]
    return f"{slug or 'c'}-{digest}"
