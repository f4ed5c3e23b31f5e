"""What is done in each state: one function per row of the table in decide.py. Pure."""

from k8s_bridge.ray.moves.again import give_up, requeue, submit_anew
from k8s_bridge.ray.moves.asking import (
    ask,
    ask_anew,
    await_cluster,
    await_quota,
    make_again,
    refuse,
    report_denial,
    report_exhausted,
)
from k8s_bridge.ray.moves.over import finish, give_back, let_go, nothing, report_interactive, retire
from k8s_bridge.ray.moves.running import await_start, await_workers, follow, release, report_bypass

__all__ = [
    "ask",
    "ask_anew",
    "await_cluster",
    "await_quota",
    "await_start",
    "await_workers",
    "finish",
    "follow",
    "give_back",
    "give_up",
    "let_go",
    "make_again",
    "nothing",
    "refuse",
    "release",
    "report_bypass",
    "report_denial",
    "report_exhausted",
    "report_interactive",
    "requeue",
    "retire",
    "submit_anew",
]
