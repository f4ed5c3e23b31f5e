"""The client of slurmrestd: v0.0.38 to v0.0.45 in, one lean model out, three kinds of error."""

from k8s_bridge.slurm.client.client import SlurmClient
from k8s_bridge.slurm.client.config import SlurmEndpoint, Tls
from k8s_bridge.slurm.client.port import SlurmPort, SlurmReads, SlurmWrites
from k8s_bridge.slurm.client.results import Listing, Partition, Unchanged
from k8s_bridge.slurm.client.token import TokenSource
from k8s_bridge.slurm.client.update import AT_ONCE, Hold, JobUpdate, NodeState

__all__ = [
    "AT_ONCE",
    "Hold",
    "JobUpdate",
    "Listing",
    "NodeState",
    "Partition",
    "SlurmClient",
    "SlurmEndpoint",
    "SlurmPort",
    "SlurmReads",
    "SlurmWrites",
    "Tls",
    "TokenSource",
    "Unchanged",
]
