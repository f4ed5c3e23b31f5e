"""From a job and its route to a layout and to a JobSet manifest: layout, GRES mapping and templates joined.

Pure results of the spec's revision; policies are compiled once per route.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from k8s_bridge.slurm.jobset import metadata, render_components, render_jobset
from k8s_bridge.slurm.jobset.policy import UNNAMED, Cluster, Policy, policy_of
from k8s_bridge.slurm.jobset.resources import unmapped
from k8s_bridge.slurm.layout import plan
from k8s_bridge.slurm.layout.types import Exclusive, Layout, NodeShape, Refusal
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.policy import Policies, Route


class Planner:
    """Plans and renders for one revision of one WorkloadMixing."""

    def __init__(self, policies: Policies, *, cluster: Cluster = UNNAMED) -> None:
        self._policies = policies
        self._cluster = cluster
        self._compiled: dict[tuple[str, str, str], Policy] = {}
        for mapping in policies.mixing.spec.partition_mappings:
            self.policy(Route(mapping=mapping, queue="", priority_class=""))

    def plan(self, job: Job, route: Route) -> tuple[Layout | Refusal, str]:
        """The layout with the digest of what its JobSet is made from, or a refusal with an empty one."""
        mapping, spec = route.mapping, self._policies.mixing.spec
        shape, topology = mapping.node_shape, mapping.topology or spec.topology
        found = plan(
            job,
            node_shape=NodeShape(cpus=shape.cpus, memory=shape.memory, gpus=shape.gpus) if shape else None,
            exclusive=Exclusive.ALWAYS if mapping.exclusive else Exclusive.AS_ASKED,
            met=frozenset({"--switches"} if topology.required_level else ()),
        )
        if isinstance(found, Layout):
            found = unmapped(found, slurmd=spec.slurmd) or found
        if isinstance(found, Refusal):
            return found, ""
        return found, metadata.shape(found, policy=self.policy(route))

    def render(self, job: Job, route: Route, *, slot: int | None = None) -> dict[str, Any]:
        """The manifest of the JobSet of a job, or of a slot of an array.

        Raises TemplateError, or Terminal for a refused job.
        """
        layout, _ = self.plan(job, route)
        if isinstance(layout, Refusal):
            raise TypeError(f"job {job.job_id} was refused: {layout.text}")
        return render_jobset(job=job, layout=layout, policy=self.policy(route), slot=slot)

    def render_components(self, components: Sequence[Job], route: Route) -> dict[str, Any]:
        """The manifest of the JobSet of a heterogeneous job; raises as `render` does."""
        plans = [self.plan(one, route) for one in components]
        layouts = [found for found, _ in plans if isinstance(found, Layout)]
        if len(layouts) < len(plans):
            raise TypeError(f"job {components[0].job_id} was refused")
        shape = "+".join(shape for _, shape in plans)
        return render_components(components, layouts, policy=self.policy(route), shape=shape)

    def policy(self, route: Route) -> Policy:
        """The compiled policy of a route. TemplateError when a pod template is wrong."""
        key = (route.mapping.partition_name, route.queue, route.priority_class)
        if key not in self._compiled:
            self._compiled[key] = policy_of(
                self._policies.mixing,
                partition=route.mapping,
                queue=route.queue,
                priority_class=route.priority_class,
                cluster=self._cluster,
            )
        return self._compiled[key]
