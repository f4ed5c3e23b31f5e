"""What the WorkloadMixing says, compiled once per revision: pools, clusters, templates. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from api.ray_views import RayCluster, RayJob
from api.v1alpha1 import WorkloadMixing
from api.v1alpha1.ray import ManagedCluster, RaySpec
from k8s_bridge.core.rendering import Facts, Template, compile_tree
from k8s_bridge.ray.request import Refusal, Request, request_of
from k8s_bridge.ray.unit import Policy, Requeue
from k8s_bridge.ray.workers import Like, Owner, like_of

NOWHERE: Mapping[str, str] = MappingProxyType({})


class Setup:
    """Looks up what applies to a job. `spec` must be there."""

    def __init__(self, mixing: WorkloadMixing, *, elsewhere: Mapping[str, str] = NOWHERE) -> None:
        """`elsewhere`: shared clusters that other mixings of the namespace serve, each with who does."""
        assert mixing.spec.ray is not None
        self.mixing = mixing
        self.elsewhere = elsewhere
        self.spec: RaySpec = mixing.spec.ray
        self._clusters = {one.name: one for one in self.spec.managed_clusters}
        self._of_cluster = {one.name: compile_tree(one.pod_template) for one in self.spec.managed_clusters}
        self._of_pool = {one.pool: compile_tree(one.pod_template) for one in self.spec.pool_mappings}

    @property
    def namespace(self) -> str:
        """Where it all is."""
        return self.mixing.metadata.namespace

    def manages(self, cluster: str) -> bool:
        """Whether a shared cluster is managed here."""
        return cluster in self._clusters and cluster not in self.elsewhere

    def request(self, job: RayJob) -> Request | Refusal:
        """What the job asks for."""
        return request_of(job, spec=self.spec)

    def like(self, cluster: RayCluster) -> Like | None:
        """What workers of that cluster are like; None when it does not tell."""
        managed: ManagedCluster = self._clusters[cluster.metadata.name]
        return like_of(cluster, group=managed.worker_group, address=managed.head_address)

    def owner(self, job: RayJob, request: Request, cluster: str) -> Owner:
        """Whose workers they are, with the templates laid over them. Raises TemplateError."""
        facts: Facts = {
            "job": {"name": job.metadata.name, "namespace": job.metadata.namespace},
            "pool": request.pool,
            "cluster": cluster,
            "workers": request.workers,
        }
        templates: tuple[Template, ...] = (self._of_cluster[cluster], self._of_pool[request.pool])
        rendered = (template.render(facts) for template in templates)
        return Owner(
            mixing=self.mixing.metadata.name,
            worker=self.spec.worker,
            overlays=tuple(overlay for overlay in rendered if overlay),
        )

    def policy(self, *, requeue: Requeue) -> Policy:
        """What holds for every job."""
        return Policy(
            provision_timeout=self.mixing.spec.provision_timeout.total_seconds(),
            worker_retries=self.spec.worker_retries,
            ttl=self.spec.ttl_after_finished.total_seconds(),
            requeue=requeue,
        )
