"""Whether Slurm would start a job if it had the capacity: no quota is asked for one that it would not. Pure.

While a job is held Slurm shows only the hold as its reason, so this is read off the record and off what
else Slurm tells: other jobs, licenses, reservations and partitions. What cannot be read off (limits of
associations and QOS) shows after the release; see `withheld`.
"""

from k8s_bridge.slurm.eligibility.obstacle import Grip, Obstacle
from k8s_bridge.slurm.eligibility.rules import REASONS, RULES, obstacle
from k8s_bridge.slurm.eligibility.surroundings import NOTHING, UNASKED, Availability, Surroundings
from k8s_bridge.slurm.eligibility.withheld import (
    Limit,
    is_requeue_delay,
    limit_of,
    limits_on,
    withholds,
)

__all__ = [
    "NOTHING",
    "REASONS",
    "RULES",
    "UNASKED",
    "Availability",
    "Grip",
    "Limit",
    "Obstacle",
    "Surroundings",
    "is_requeue_delay",
    "limit_of",
    "limits_on",
    "obstacle",
    "withholds",
]
