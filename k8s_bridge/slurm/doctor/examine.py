"""The whole examination: looks at everything once, and reads the tables of checks. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from api.v1alpha1.workloadmixing import WorkloadMixing
from k8s_bridge.core.errors import BridgeError
from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime.doctor.kinds import COMMON
from k8s_bridge.runtime.doctor.looking import CLUSTER_NAME, deployments, no_cluster, seen, served
from k8s_bridge.runtime.doctor.mixings import Found, find
from k8s_bridge.runtime.doctor.reviews import reviewed
from k8s_bridge.runtime.doctor.rights import Right
from k8s_bridge.runtime.doctor.subject import Asked
from k8s_bridge.runtime.doctor.subject import Subject as Common
from k8s_bridge.runtime.doctor.verdict import Hidden, Result, results
from k8s_bridge.runtime.doctor.views import Deployment, Namespace
from k8s_bridge.runtime.settings import LEASE_NAME
from k8s_bridge.slurm.doctor import look_cluster, look_mixing, look_slurm
from k8s_bridge.slurm.doctor.checks.cluster import CLUSTER
from k8s_bridge.slurm.doctor.checks.mixing import MIXING, references
from k8s_bridge.slurm.doctor.checks.slurm import SLURM
from k8s_bridge.slurm.doctor.look_slurm import Means
from k8s_bridge.slurm.doctor.rights import everywhere, in_namespace, to_lead, to_read
from k8s_bridge.slurm.doctor.sight import ClusterSight

_READ_BY_BRIDGE = ("slurmTokenSecretRef", "slurmCARef", "slurmClientCertRef")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject(Common):
    """What is examined, and by what means Slurm is asked. `lease`: its name, where no Deployment tells."""

    means: Means = field(default_factory=Means)
    lease: str = LEASE_NAME


async def examine(server: ApiServer, subject: Subject) -> list[Result]:
    """What every check says, of the cluster first and then of each WorkloadMixing."""
    async with KubeClient(server, may_write=lambda: False) as client:
        try:
            await client.document("/version")
        except BridgeError as error:
            return [no_cluster(server, error), *await _slurm(client, subject.files, subject.means)]
        return await _Examination(client, subject).whole()


async def _slurm(client: KubeClient, mixings: Iterable[WorkloadMixing], means: Means) -> list[Result]:
    sights = [await look_slurm.look(client, one, means) for one in mixings if one.spec.has_slurm]
    return [result for sight in sights for result in results(SLURM, sight, about=_key(sight.mixing))]


def _key(mixing: WorkloadMixing) -> str:
    return f"{mixing.metadata.namespace}/{mixing.metadata.name}"


class _Examination:
    """One examination of a cluster that answers."""

    def __init__(self, client: KubeClient, subject: Subject) -> None:
        self._client = client
        self._subject = subject
        self._found: list[Found] = []
        self._told: list[Result] = []

    async def whole(self) -> list[Result]:
        """Every result, in the order of the tables."""
        if not await self._found_any():
            return self._told
        try:
            served_ = await served(self._client, COMMON)
        except BridgeError as error:
            return [no_cluster(self._client.server, error)]
        running = await deployments(self._client)
        seen_ = () if isinstance(running, Hidden) else running
        bridge = look_cluster.bridge_of(seen_)
        account = self._subject.account or _account(bridge)
        cluster = ClusterSight(
            served=served_,
            rights=await reviewed(self._client, self._rights(bridge), account=account),
            whose=self._whose(account),
            deployments=running,
            kueue=await look_cluster.kueue_config(self._client, seen_),
            namespaces={
                name: await seen(self._client.get(Namespace, name=name)) for name in self._subject.namespaces
            },
            mixings=len(self._found) + len(self._told),
        )
        told = [*results(CLUSTER, cluster, about=CLUSTER_NAME), *self._told]
        return told + await self._mixings(bridge)

    async def _found_any(self) -> bool:
        """Whether there is something to say: of Slurm there is not, where all is for Ray alone."""
        subject = self._subject
        found, self._told = await find(self._client, subject.namespaces, only=subject.only)
        given = [*(Found(mixing=mixing) for mixing in subject.files), *found]
        self._found = [one for one in given if one.mixing.spec.has_slurm]
        return bool(self._found) or not given or subject.asked is Asked.ALONE

    def _whose(self, account: str) -> str:
        if account:
            return f"ServiceAccount {account}"
        return "this pod's ServiceAccount" if self._subject.within else ""

    def _rights(self, bridge: Deployment | None) -> Iterator[Right]:
        yield from everywhere()
        home = bridge.metadata.namespace if bridge else self._client.server.namespace
        lease = look_cluster.values(bridge, "--lease-name") if bridge else ()
        yield from to_lead(home, lease=next(iter(lease), self._subject.lease))
        for namespace in self._subject.namespaces:
            yield from in_namespace(namespace)
        for one in self._found:
            for kind, name, _, where in references(one.mixing):
                if where.startswith(_READ_BY_BRIDGE):
                    yield to_read(kind, name, namespace=one.mixing.metadata.namespace)

    async def _mixings(self, bridge: Deployment | None) -> list[Result]:
        told: list[Result] = []
        gates = look_cluster.gates_of(bridge) if bridge else None
        for one in self._found:
            others = [other.mixing for other in self._found]
            sight = await look_mixing.look(
                self._client, one.mixing, conditions=one.conditions, gates=gates, others=others
            )
            told += results(MIXING, sight, about=one.key)
            told += await _slurm(self._client, (one.mixing,), self._subject.means)
        return told


def _account(bridge: Deployment | None) -> str:
    if bridge is None:
        return ""
    return f"{bridge.metadata.namespace}/{bridge.spec.template.spec.service_account_name}"
