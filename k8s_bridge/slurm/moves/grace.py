"""Time for what runs on capacity that is being taken away, where drainOnPreemption asks for it. Pure.

It is bounded by the pods: whatever is left ends with them. Their job goes back to the queue just before,
while slurmd can still be told to end it, so that two runs of one job never overlap.
"""

from __future__ import annotations

import re

from k8s_bridge.slurm.effects import SetText, Warn
from k8s_bridge.slurm.facts import Facts
from k8s_bridge.slurm.moves.common import Verdict, policy_of, since, verdict
from k8s_bridge.slurm.pods import ENDED
from k8s_bridge.slurm.speech import say
from k8s_bridge.slurm.unit import State

MARGIN = 3.0
"""Seconds before the end of the pods at which their job is sent back."""
TOLD_WITHIN = 10.0
"""Seconds within which pods that are to go are told so."""
_SIGNAL = re.compile(r"(?:^|(?<=[\s,;]))wm:signal=(TERM|INT|HUP|QUIT|CONT|USR1|USR2)(?=$|[\s,;])")


def signal_of(comment: str) -> str:
    """The signal that a job's owner wants its steps to get, by `wm:signal=…` in the comment; "" for none."""
    found = _SIGNAL.findall(comment)
    return str(found[-1]) if found else ""


def time_to_end(facts: Facts, names: tuple[str, ...], *, state: State, now: float) -> float:
    """Seconds that what runs on these nodes may still have; 0 when none was asked for, or a pod is gone."""
    if not policy_of(facts).drain_first or not names:
        return 0.0
    there = [pod for pod in facts.unit.pods if pod.metadata.name in names and pod.status.phase not in ENDED]
    if len(there) < len(names):
        return 0.0
    told = [pod.metadata.deletion_timestamp for pod in there]
    ends = [moment.timestamp() - MARGIN for moment in told if moment is not None]
    return max(0.0, min(ends, default=since(facts, state, now) + TOLD_WITHIN) - now)


def let_end(facts: Facts, names: tuple[str, ...], *, why: str, left: float) -> Verdict:
    """Nothing new starts there, and the job's owner is told in time."""
    draining = {node.name for node in facts.unit.nodes if "DRAIN" in node.states}
    text = f"{why}; what runs may go on until its pods end"
    job = facts.unit.job
    if job is None or set(names) <= draining:
        return verdict(reason="Ending", text=text, after=left)
    alone = facts.unit.slot is None  # which task of an array runs on a slot, its record does not tell
    warn = Warn(
        nodes=names,
        reason=f"k8s-bridge: {why}"[:200],
        job_id=job.job_id,
        signal=signal_of(job.comment) if alone else "",
    )
    told = [SetText(job_id=job.job_id, text=say("Ending", text))] if alone else []
    return verdict(warn, *told, reason="Ending", text=text, after=left)
