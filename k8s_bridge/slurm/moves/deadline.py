"""Keeps the deadline of a job's pods behind its time limit: no extended limit, no later run is cut off."""

from __future__ import annotations

from k8s_bridge.core import naming
from k8s_bridge.core.effects import ObjectRef, Patch
from k8s_bridge.slurm.effects import Effect
from k8s_bridge.slurm.facts import Facts
from k8s_bridge.slurm.moves.common import annotate, job_of

SLACK = 300
"""Seconds from a time limit until its processes are gone for sure."""
_MINUTE = 60


def extend_deadline(facts: Facts, *, start: float) -> tuple[Effect, ...]:
    """Patch the JobSet's Jobs if a run that begins at `start` (Unix seconds) may last beyond their deadline.

    The deadline counts from the start of the pods, which is when Kueue admitted them.
    """
    jobset, limit = facts.unit.jobset, job_of(facts).time_limit
    if jobset is None or not facts.admission.since:
        return ()
    have = facts.annotations.get(naming.DEADLINE, "")
    if not have.isdecimal():
        return ()
    need = None if limit is None else int(start - facts.admission.since) + limit * _MINUTE + SLACK
    if need is not None and need <= int(have):
        return ()
    names = [f"{jobset.metadata.name}-{rj.name}-0" for rj in jobset.spec.replicated_jobs]
    spec = {"spec": {"activeDeadlineSeconds": need}}
    patches = [Patch(ref=_job(jobset.metadata.namespace, name), patch=spec) for name in names]
    return (*patches, annotate(facts, {naming.DEADLINE: None if need is None else str(need)}))


def _job(namespace: str, name: str) -> ObjectRef:
    return ObjectRef(api_version="batch/v1", kind="Job", plural="jobs", namespace=namespace, name=name)
