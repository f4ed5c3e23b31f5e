"""The poller: keeps the tables of jobs and nodes the image of what slurmctld holds."""

from k8s_bridge.slurm.poller.poller import Cycle, Poller

__all__ = ["Cycle", "Poller"]
