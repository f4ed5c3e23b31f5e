"""What must hold whatever happens: pure judgements over a Timeline."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations

from k8s_bridge.core import naming
from k8s_bridge.sandbox.controllers import quantity
from k8s_bridge.sandbox.world.slurm import JobFact, Start
from k8s_bridge.sandbox.world.timeline import PlainJob, Span, Timeline, of_job

EVICTION_GRACE = 3.0
"""Seconds that slurmctld may need to learn that a released job's capacity is being taken away."""
_SHOWN = 3
_SLOT = re.compile(r"-s\d+$")
_SELF_EXPLANATORY = frozenset({"COMPLETED", "TIMEOUT", "CANCELLED", "DEADLINE"})
_EMPTY = frozenset({"", "None"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One invariant: whether it holds, and the evidence for either."""

    name: str
    holds: bool
    evidence: str


def check(timeline: Timeline) -> list[Verdict]:
    """Judge every invariant. To be asked when all is over: usage and records have to be back to nothing."""
    return [_judge(name, rule, timeline) for name, rule in (_ALWAYS | _AT_LAST).items()]


def check_now(timeline: Timeline) -> list[Verdict]:
    """Judge those that have to hold at every moment."""
    return [_judge(name, rule, timeline) for name, rule in _ALWAYS.items()]


Finding = tuple[list[str], str]
"""(violations, what was looked at)."""


def _judge(name: str, rule: Callable[[Timeline], Finding], timeline: Timeline) -> Verdict:
    violations, evidence = rule(timeline)
    return Verdict(name=name, holds=not violations, evidence=_summary(violations) or evidence)


def _summary(violations: list[str]) -> str:
    more = f"; and {len(violations) - _SHOWN} more" if len(violations) > _SHOWN else ""
    return "; ".join(violations[:_SHOWN]) + more


def _admitted_first(timeline: Timeline) -> Finding:
    early = [
        f"job {start.job_id} started on {', '.join(start.nodes)} without an admitted Workload"
        for start in timeline.starts
        if not _was_admitted(timeline, start) and not _on_vanished(timeline, start)
    ]
    return early, f"{len(timeline.starts)} starts, each on admitted capacity"


def _was_admitted(timeline: Timeline, start: Start) -> bool:
    """Whether each JobSet whose pods it runs on is admitted: a job array has several."""
    spans = of_job(timeline.admissions, start.job_id)
    covering = {span.jobset for span in spans if span.covers(start.at, grace=EVICTION_GRACE)}
    used = {pod.jobset for pod in timeline.pods if pod.name in start.nodes}
    return bool(covering) and used <= covering


def _on_vanished(timeline: Timeline, start: Start) -> bool:
    """Whether its nodes were pods that had ended: slurmctld did not know yet, and nothing can have run."""
    pods = [span for span in timeline.pods if span.name in start.nodes]
    gone = {pod.name for pod in pods if pod.ended is not None and pod.ended < start.at}
    return set(start.nodes) <= gone


def _own_nodes(timeline: Timeline) -> Finding:
    owner = {pod.name: pod.job_id for pod in timeline.pods if pod.job_id is not None}
    foreign = [
        f"job {start.job_id} ran on {node}, which is job {owner[node]}'s"
        if node in owner
        else f"job {start.job_id} ran on {node}, which is nobody's pod"
        for start in timeline.starts
        for node in start.nodes
        if owner.get(node) != start.job_id
    ]
    used = {node for start in timeline.starts for node in start.nodes}
    return foreign, f"{len(used)} nodes, each used by its own job alone"


def _one_jobset(timeline: Timeline) -> Finding:
    by_job: dict[str, list[Span]] = {}
    for span in timeline.jobsets:
        if span.job_id is not None:
            by_job.setdefault(_unit(span), []).append(span)
    twice = [
        f"job {unit} had {one.name} ({one.uid}) and {other.name} ({other.uid}) at a time"
        for unit, spans in by_job.items()
        for one, other in combinations(spans, 2)
        if one.overlaps(other)
    ]
    return twice, f"{len(timeline.jobsets)} JobSets for {len(by_job)} jobs"


def _unit(jobset: Span) -> str:
    """The job, or the slot of a job array, that a JobSet was made for."""
    slot = _SLOT.search(jobset.name)
    return f"{jobset.job_id}{slot.group() if slot else ''}"


def _within_quota(timeline: Timeline) -> Finding:
    total: Counter[str] = Counter()
    for resources in timeline.quota.values():
        total.update(resources)
    over = [
        f"{quantity.text(name, most)} {name} reserved of {quantity.text(name, total[name])}"
        for name, most in timeline.peak.items()
        if most > total[name]
    ]
    peaks = [
        f"{quantity.text(name, timeline.peak.get(name, 0))} of {quantity.text(name, amount)} {name}"
        for name, amount in total.items()
        if name == "cpu"
    ]
    return over, f"at most {', '.join(peaks) or 'nothing'} reserved at a time"


def _usage_zero(timeline: Timeline) -> Finding:
    left = [
        f"{queue} still uses {quantity.text(name, amount)} {name}"
        for queue, resources in timeline.usage.items()
        for name, amount in resources.items()
        if amount
    ]
    return left, f"{', '.join(timeline.usage) or 'no queue'}: nothing in use"


def _no_ghosts(timeline: Timeline) -> Finding:
    alive = {pod.name for pod in timeline.pods if pod.ended is None}
    ours = [
        node.name
        for node in timeline.nodes.values()
        if any(naming.job_of_feature(feature) is not None for feature in node.features)
    ]
    ghosts = [f"node {name} has no pod" for name in ours if name not in alive]
    return ghosts, f"{len(ours)} of our nodes left, {len(timeline.nodes)} nodes in all"


def _explained(timeline: Timeline) -> Finding:
    silent = [
        f"job {job.job_id} is {job.state or 'in no state'}"
        f"{'+COMPLETING' if job.completing else ''}, reason {job.reason or 'none'}, text {job.text!r}"
        for job in timeline.jobs.values()
        if not _is_explained(job)
    ]
    silent += [
        f"Job {job.name} is {job.state or 'in no state'}, without a reason"
        for job in timeline.plain_jobs
        if not _is_plain_explained(job)
    ]
    states = Counter(job.state for job in timeline.jobs.values())
    return silent, _counts(states, timeline.plain_jobs)


def _is_explained(job: JobFact) -> bool:
    if job.over and job.state in _SELF_EXPLANATORY:
        return True
    return bool(job.state) and not job.completing and (job.reason not in _EMPTY or bool(job.text))


def _is_plain_explained(job: PlainJob) -> bool:
    return job.state == "Complete" or bool(job.state and (job.reason or job.text))


def _counts(states: Counter[str], plain: Iterable[PlainJob]) -> str:
    slurm = [f"{count} {state}" for state, count in sorted(states.items())]
    jobs = Counter(job.state for job in plain)
    return ", ".join([*slurm, *(f"{count} Job {state}" for state, count in sorted(jobs.items()))])


_ALWAYS: dict[str, Callable[[Timeline], Finding]] = {
    "no job runs before its Workload is admitted": _admitted_first,
    "no job runs on another's nodes": _own_nodes,
    "never two JobSets for one job": _one_jobset,
    "never more reserved than there is quota": _within_quota,
}
_AT_LAST: dict[str, Callable[[Timeline], Finding]] = {
    "queue usage is back to zero": _usage_zero,
    "no ghost nodes in Slurm": _no_ghosts,
    "every job ends in a state that is explained": _explained,
}
