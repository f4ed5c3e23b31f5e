"""Whose a submission is, be it the present one, one before it, or one that is still to be noted. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from api.ray_views import RayJob
from k8s_bridge.ray import names
from k8s_bridge.ray.release import Release

_BY_KUBERAY = re.compile(r"(?P<job>.+)-[a-z0-9]{5}")
"""How KubeRay calls the submissions of a RayJob, each time anew."""


class Owners:
    """Looks up the token of a submission's job. `jobs`: RayJobs of one cluster by their workers' tokens."""

    def __init__(self, jobs: Mapping[str, RayJob]) -> None:
        self._named = {job.metadata.name: token for token, job in jobs.items()}
        self._noted = {one: token for token, job in jobs.items() for one in _noted(job)}

    def __call__(self, submission_id: str) -> str:
        """The token; "" when none of the jobs made the submission."""
        made = _BY_KUBERAY.fullmatch(submission_id)
        return self._noted.get(submission_id) or (self._named.get(made["job"], "") if made else "")


def _noted(job: RayJob) -> Iterator[str]:
    """Ids that stand on the RayJob; its owner may have chosen one."""
    release = Release.parse(job.metadata.annotations.get(names.RELEASED, ""))
    known = (
        job.status.job_id,
        release.job_id if release else "",
        job.metadata.annotations.get(names.REQUEUING),
    )
    yield from filter(None, known)
