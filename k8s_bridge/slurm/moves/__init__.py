"""What each state does: effects as data, a word and a sentence for people, and when to look again.

Every move rests on facts alone and may be repeated at any time: the facts change when an effect has worked.
"""

from k8s_bridge.slurm.moves.active import evict, follow, help_completing, lose
from k8s_bridge.slurm.moves.asking import (
    ask,
    ask_anew,
    await_eligibility,
    await_turn,
    hold_again,
    refuse,
    report_denial,
)
from k8s_bridge.slurm.moves.capacity import (
    await_nodes,
    await_quota,
    release,
    report_trespass,
    unpark_when_due,
)
from k8s_bridge.slurm.moves.common import look_again, nothing
from k8s_bridge.slurm.moves.over import drain, give_back, keep, let_go, report_guard
from k8s_bridge.slurm.moves.released import await_slurm, await_start, respect_hold, take_back
from k8s_bridge.slurm.moves.steering import steer

__all__ = [
    "ask",
    "ask_anew",
    "await_eligibility",
    "await_nodes",
    "await_quota",
    "await_slurm",
    "await_start",
    "await_turn",
    "drain",
    "evict",
    "follow",
    "give_back",
    "help_completing",
    "hold_again",
    "keep",
    "let_go",
    "look_again",
    "lose",
    "nothing",
    "refuse",
    "release",
    "report_denial",
    "report_guard",
    "report_trespass",
    "respect_hold",
    "steer",
    "take_back",
    "unpark_when_due",
]
