"""Whether a partition's pod template can be used, found out before any job needs it."""

from __future__ import annotations

from k8s_bridge.core.rendering import TemplateError
from k8s_bridge.slurm.jobset.manifest import render_jobset
from k8s_bridge.slurm.jobset.policy import Policy
from k8s_bridge.slurm.layout.types import Group, Layout, Shape
from k8s_bridge.slurm.model import Job

_JOB = Job(job_id=1, name="sample", user_name="user", account="account", qos="normal", partition="batch")
_LAYOUT = Layout(
    groups=(Group(count=1, tasks=1, shape=Shape(cpus=1, memory=1024, whole_node=True)),), time_limit=60
)


def check_template(policy: Policy) -> None:
    """TemplateError when the policy's template does not give a pod for a sample job.

    Structure does not depend on values, so what holds for the sample holds for every job.
    """
    try:
        render_jobset(job=_JOB, layout=_LAYOUT, policy=policy)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TemplateError("podTemplate", f"is not shaped like a pod template ({error})") from error
