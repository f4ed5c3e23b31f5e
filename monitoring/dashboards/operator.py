"""For who runs the bridge: is it well, what does it do, what holds jobs up, what guards hold."""

from __future__ import annotations

from monitoring.dashboards.health import HEALTH, SLURM_API
from monitoring.dashboards.jobs import GUARDS, KUEUE, LIFE
from monitoring.dashboards.machine import KUBERNETES, process
from monitoring.dashboards.model import Dashboard, Variable
from monitoring.dashboards.ray import RAY
from monitoring.promql import metric

OPERATOR = Dashboard(
    name="operator",
    title="k8s-bridge / Operator",
    tells="Health, Slurm API, life of a job by stage, safety guards, Kueue.",
    variables=(
        Variable(name="mixing", title="WorkloadMixing", metric=metric("synced"), label="workloadmixing"),
    ),
    rows=(HEALTH, SLURM_API, LIFE, GUARDS, KUEUE, RAY, KUBERNETES, process(metric("leader"))),
)
