"""Layouts of jobs that wait, each made once: they are pure results of a job's record and its route."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from k8s_bridge.slurm import het
from k8s_bridge.slurm.layout.types import Layout, Refusal
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.policy import Route

Planner = Callable[[Job, Route], tuple[Layout | Refusal, str]]
"""(job, route) -> (layout or refusal, digest of the layout)."""


class Plans:
    """What a planner makes of jobs, kept until the job's record or route is another."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._known: dict[int, tuple[Job, Route, Layout | Refusal, str]] = {}

    def of(self, job: Job, route: Route) -> tuple[Layout | Refusal | None, str]:
        """Layout and digest; (None, "") of a job that does not wait."""
        if not job.pending:
            return None, ""
        known = self._known.get(job.job_id)
        if known is None or known[0] is not job or known[1] != route:
            known = (job, route, *self._planner(job, route))
            self._known[job.job_id] = known
        return known[2], known[3]

    def joined(self, components: tuple[Job, ...], route: Route) -> het.Plan:
        """Those of a heterogeneous job as one."""
        return het.joined(components, [self.of(one, route) for one in components])

    def forget(self, job_ids: Iterable[int]) -> None:
        """These jobs wait no more."""
        for job_id in job_ids:
            self._known.pop(job_id, None)
