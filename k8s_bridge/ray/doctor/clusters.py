"""Checks of the shared RayClusters and of their heads. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from api.ray_views import RayCluster
from api.v1alpha1.ray import ManagedCluster
from k8s_bridge.core import naming
from k8s_bridge.core.admission import condition, is_true
from k8s_bridge.ray.doctor.sight import Answer, HeadSight, RaySight
from k8s_bridge.ray.workers import like_of
from k8s_bridge.runtime.doctor.verdict import Check, Finding, Hidden, doubtful, fine, unseen, wrong

_TOKEN_MODE = "token"  # noqa: S105  # a mode's name


def clusters(sight: RaySight) -> Iterator[Finding]:
    """Each managed RayCluster is there, queued, and running, and its workers can be told."""
    for managed in sight.spec.managed_clusters:
        whole = f"RayCluster {sight.mixing.metadata.namespace}/{managed.name}"
        found = sight.clusters.get(managed.name)
        if isinstance(found, Hidden):
            yield unseen(f"{whole}: {found.why}", cure="ask as somebody who may get RayClusters there")
        elif found is None:
            yield wrong(f"{whole} is not there", cure="create it, or correct ray.managedClusters")
        else:
            yield from _cluster(whole, managed, found)


def _cluster(whole: str, managed: ManagedCluster, found: RayCluster) -> Iterator[Finding]:
    if naming.QUEUE_NAME not in found.metadata.labels:
        text = f"{whole} is in no queue: its head and its own workers take machines that Kueue counts as free"
        cure = f"make it anew with a label {naming.QUEUE_NAME}, and a priority class above all jobs'"
        yield doubtful(text, cure=cure)
    if like_of(found, group=managed.worker_group, address=managed.head_address) is None:
        group = f"no worker group {managed.worker_group}" if managed.worker_group else "no container"
        text = f"{whole} has {group} that workers could be made like"
        yield wrong(text, cure="correct ray.managedClusters[].workerGroup, or the RayCluster")
    yield _running(whole, found)


def _running(whole: str, found: RayCluster) -> Finding:
    if found.spec.get("suspend"):
        cure = "see why Kueue does not admit it: kubectl describe workload"
        return wrong(f"{whole} is suspended", cure=cure)
    head = condition(found.status.conditions, "HeadPodReady")
    up = is_true(head) if head else found.status.state == "ready"
    if up and found.status.head.pod_i_p:
        return fine(f"{whole} runs")
    why = f": {head.message}" if head and head.message else ""
    return wrong(
        f"the head of {whole} is not up{why}", cure=f"kubectl describe raycluster {found.metadata.name}"
    )


def heads(sight: RaySight) -> Iterator[Finding]:
    """Each head answers the bridge, with the token that it is asked with."""
    for name, head in sight.heads.items():
        cluster = sight.clusters.get(name)
        if isinstance(cluster, RayCluster):
            yield _SAID[head.answer](head, cluster, sight)


def _answers(head: HeadSight, cluster: RayCluster, sight: RaySight) -> Finding:
    del head, sight
    return fine(f"the head of RayCluster {cluster.key} answers")


def _silent(head: HeadSight, cluster: RayCluster, sight: RaySight) -> Finding:
    if not sight.within:
        cure = "ask from a pod: kubectl exec deploy/k8s-bridge-ray -- k8s-bridge doctor ray"
        return unseen(f"the head of RayCluster {cluster.key}, from here: {head.text}", cure=cure)
    cure = (
        "start it with dashboard-host 0.0.0.0 (rayStartParams of the head group), and let NetworkPolicies "
        "pass from the bridge to its dashboard's port (rayBridge.networkPolicy, docs/ray-bridge.md)"
    )
    return wrong(f"the head of RayCluster {cluster.key} does not answer: {head.text}", cure=cure)


def _refused(head: HeadSight, cluster: RayCluster, sight: RaySight) -> Finding:
    del sight
    if wants_token(cluster):
        text = f"the head of RayCluster {cluster.key} does not take the token of Secret {cluster.key}"
        return wrong(f"{text}: {head.text}", cure="restart the head: it reads the token at its start")
    text = f"the head of RayCluster {cluster.key} wants a token that its RayCluster says nothing of"
    cure = "set authOptions: {mode: token} in the RayCluster, in place of Ray's own environment variables"
    return wrong(f"{text}: {head.text}", cure=cure)


def _without(head: HeadSight, cluster: RayCluster, sight: RaySight) -> Finding:
    del sight
    cure = "let KubeRay make it anew (it is called like the RayCluster, with the key auth_token)"
    return wrong(f"the token of RayCluster {cluster.key}: {head.text}", cure=cure)


def _unread(head: HeadSight, cluster: RayCluster, sight: RaySight) -> Finding:
    del sight
    cure = "ask as somebody who may get that Secret; the bridge itself: see the check ray-rights"
    return unseen(f"the token of RayCluster {cluster.key}: {head.text}", cure=cure)


def wants_token(cluster: RayCluster) -> bool:
    """Whether the RayCluster says that its head wants a token."""
    return (cluster.spec.get("authOptions") or {}).get("mode") == _TOKEN_MODE


_SAID: Mapping[Answer, Callable[[HeadSight, RayCluster, RaySight], Finding]] = {
    Answer.FINE: _answers,
    Answer.SILENT: _silent,
    Answer.TOKEN_REFUSED: _refused,
    Answer.TOKEN_MISSING: _without,
    Answer.TOKEN_HIDDEN: _unread,
}
CLUSTERS = (
    Check(name="ray-clusters", why="jobs wait for a cluster that does not come", look=clusters),
    Check(
        name="ray-heads", why="no job is let go: the bridge asks the head whether workers joined", look=heads
    ),
)
"""All of them."""
