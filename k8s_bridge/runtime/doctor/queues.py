"""How troubles of queues are cured. Pure."""

from __future__ import annotations

ASK = "ask as somebody who may read Kueue's kinds"
CURES = {
    "LocalQueueMissing": "create the LocalQueue, or correct localQueue in the WorkloadMixing",
    "LocalQueueStopped": "set its stopPolicy to None",
    "ClusterQueueMissing": "create the ClusterQueue, or correct clusterQueue of the LocalQueue",
    "ClusterQueueStopped": "set its stopPolicy to None",
    "ClusterQueueInactive": "mend what its condition Active says: kubectl describe clusterqueue",
    "MultiKueueQueue": "use a LocalQueue of a ClusterQueue without a MultiKueue AdmissionCheck",
}
"""By the reasons of `preflight.queue_trouble`."""
