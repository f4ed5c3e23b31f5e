"""JobSets, as far as they are looked at."""

from __future__ import annotations

from api.views.base import Condition, Object, View


class JobTemplateSpec(View, frozen=True):
    """spec.replicatedJobs[].template.spec."""

    parallelism: int = 1
    completions: int | None = None


class JobTemplate(View, frozen=True):
    """spec.replicatedJobs[].template."""

    spec: JobTemplateSpec = JobTemplateSpec()


class ReplicatedJob(View, frozen=True):
    """spec.replicatedJobs[]."""

    name: str
    replicas: int = 1
    template: JobTemplate = JobTemplate()


class JobSetSpec(View, frozen=True):
    """JobSet.spec."""

    suspend: bool = False
    replicated_jobs: tuple[ReplicatedJob, ...] = ()


class JobSetStatus(View, frozen=True):
    """JobSet.status; `terminal_state` is "", "Completed" or "Failed"."""

    conditions: tuple[Condition, ...] = ()
    terminal_state: str = ""
    restarts: int = 0


class JobSet(Object, frozen=True):
    """jobset.x-k8s.io JobSet."""

    GVR = ("jobset.x-k8s.io", "v1alpha2", "jobsets")
    KIND = "JobSet"

    spec: JobSetSpec = JobSetSpec()
    status: JobSetStatus = JobSetStatus()
