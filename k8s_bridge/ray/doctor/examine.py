"""The examination of the Ray side: looks at everything once, and reads the tables of checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from api.ray_views import RayCluster
from api.v1alpha1.ray import RaySpec
from api.v1alpha1.workloadmixing import WorkloadMixing
from k8s_bridge.core.errors import BridgeError
from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.ray.doctor.checks import BRIDGE, CLUSTER, MIXING, WANTED
from k8s_bridge.ray.doctor.clusters import wants_token
from k8s_bridge.ray.doctor.look import look
from k8s_bridge.ray.doctor.rights import everywhere, in_namespace, token_of
from k8s_bridge.ray.doctor.sight import ClusterSight, RaySight
from k8s_bridge.runtime.doctor.deployments import COMPONENT_LABEL
from k8s_bridge.runtime.doctor.looking import CLUSTER_NAME, deployments, no_cluster, served
from k8s_bridge.runtime.doctor.mixings import Found, find
from k8s_bridge.runtime.doctor.reviews import reviewed
from k8s_bridge.runtime.doctor.rights import Right
from k8s_bridge.runtime.doctor.subject import Asked, Subject
from k8s_bridge.runtime.doctor.verdict import Hidden, Result, results
from k8s_bridge.runtime.doctor.views import Deployment


async def examine(server: ApiServer, subject: Subject) -> list[Result]:
    """What every check says, of the cluster first and then of each WorkloadMixing with a `ray` section."""
    async with KubeClient(server, may_write=lambda: False) as client:
        try:
            return await _Examination(client, subject).whole()
        except BridgeError as error:
            return [no_cluster(server, error)]


class _Examination:
    """One examination. Raises BridgeError when the cluster does not answer at all."""

    def __init__(self, client: KubeClient, subject: Subject) -> None:
        self._client = client
        self._subject = subject

    async def whole(self) -> list[Result]:
        """Every result, in the order of the tables."""
        subject, client = self._subject, self._client
        found, told = await find(client, subject.namespaces, only=subject.only)
        given = [*(Found(mixing=mixing) for mixing in subject.files), *found]
        sections = [(one, spec) for one in given if (spec := one.mixing.spec.ray) is not None]
        if not sections and subject.asked is Asked.ALONG:
            return []
        sights = [await self._look(one, spec, given) for one, spec in sections]
        cluster = await self._cluster(sights)
        told = [*results(CLUSTER, cluster, about=CLUSTER_NAME), *told]
        return told + [one for sight in sights for one in results(MIXING, sight, about=_key(sight.mixing))]

    async def _look(self, found: Found, spec: RaySpec, given: Iterable[Found]) -> RaySight:
        others = [one.mixing for one in given]
        return await look(self._client, found, spec, within=self._subject.within, others=others)

    async def _cluster(self, sights: Sequence[RaySight]) -> ClusterSight:
        running = await deployments(self._client)
        account = self._subject.account or _account(running)
        return ClusterSight(
            served=await served(self._client, WANTED),
            deployments=running,
            rights=await reviewed(self._client, self._rights(sights), account=account),
            whose=f"ServiceAccount {account}" if account else "",
            where=self._subject.namespaces,
            mixings=len(sights),
        )

    def _rights(self, sights: Iterable[RaySight]) -> Iterator[Right]:
        yield from everywhere()
        for namespace in self._subject.namespaces:
            yield from in_namespace(namespace)
        for sight in sights:
            for name, cluster in sight.clusters.items():
                if isinstance(cluster, RayCluster) and wants_token(cluster):
                    yield token_of(name, namespace=cluster.metadata.namespace)


def _key(mixing: WorkloadMixing) -> str:
    return f"{mixing.metadata.namespace}/{mixing.metadata.name}"


def _account(running: tuple[Deployment, ...] | Hidden) -> str:
    """The ServiceAccount of the Ray bridge; "" where its Deployment is not seen."""
    for one in () if isinstance(running, Hidden) else running:
        if one.metadata.labels.get(COMPONENT_LABEL) == BRIDGE:
            return f"{one.metadata.namespace}/{one.spec.template.spec.service_account_name}"
    return ""
