"""The pod template of one group of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.v1alpha1.slurmd import Slurmd
from k8s_bridge.core import naming
from k8s_bridge.slurm.jobset import metadata
from k8s_bridge.slurm.jobset.container import AUTH_VOLUME, NAME, SHARED_VOLUME, by_name, slurmd_container
from k8s_bridge.slurm.jobset.facts import template_facts
from k8s_bridge.slurm.jobset.policy import Policy
from k8s_bridge.slurm.layout.types import Group, Layout, Shape
from k8s_bridge.slurm.model import Job

_SECRET_MODE = 0o400
USUAL_GRACE = 30
"""terminationGracePeriodSeconds of a pod that does not say."""
_HOSTNAME = "kubernetes.io/hostname"


def pod_template(
    job: Job, *, layout: Layout, group: Group, policy: Policy, slot: int | None = None
) -> dict[str, Any]:
    """The operator's template, rendered, with the bridge's own fields laid over it last."""
    facts = template_facts(job, layout=layout, group=group, policy=policy, slot=slot)
    rendered = policy.template.render(facts)
    template = rendered["podTemplate"]
    meta, spec = template.get("metadata", {}), template.get("spec", {})
    annotations = {**meta.get("annotations", {}), **metadata.topology(job, policy=policy)}
    return {
        "metadata": {
            **meta,
            "labels": {**meta.get("labels", {}), **metadata.labels(job, policy=policy, slot=slot)},
            **({"annotations": annotations} if annotations else {}),
        },
        "spec": _filled(
            {
                **spec,
                **_network(policy.slurmd),
                "restartPolicy": "Never",
                "automountServiceAccountToken": False,
                "affinity": _affinity(spec.get("affinity", {}), group.shape),
                "nodeSelector": {**spec.get("nodeSelector", {}), **_selector(layout, policy)},
                "containers": _containers(spec, _features(job, layout, policy, slot), group, policy),
                "volumes": by_name(spec.get("volumes", ()), _volumes(policy.slurmd)),
                "resourceClaims": by_name(
                    spec.get("resourceClaims", ()), _claims(policy.slurmd, rendered["claims"])
                ),
            }
        ),
    }


def _filled(spec: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if value not in ({}, [])}


def _features(job: Job, layout: Layout, policy: Policy, slot: int | None) -> tuple[str, ...]:
    """The features of the pod's node: of its job, its slot or component, its WorkloadMixing and the user."""
    own = [naming.node_feature(job.unit_id)]
    if slot is not None:
        own.append(naming.slot_feature(job.unit_id, slot))
    if job.het_job_offset is not None:
        own.append(naming.component_feature(job.unit_id, job.het_job_offset))
    return (*own, naming.mixing_feature(policy.namespace, policy.mixing), *layout.features)


def _containers(
    spec: Mapping[str, Any], features: tuple[str, ...], group: Group, policy: Policy
) -> list[dict[str, Any]]:
    theirs = spec.get("containers", ())
    template: Mapping[str, Any] = next((item for item in theirs if item.get("name") == NAME), {})
    grace = spec.get("terminationGracePeriodSeconds", USUAL_GRACE) if policy.drain_first else 0
    ours = slurmd_container(
        template, features=features, shape=group.shape, slurmd=policy.slurmd, grace=int(grace)
    )
    return by_name(theirs, [ours])


def _network(slurmd: Slurmd) -> dict[str, Any]:
    return {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"} if slurmd.host_network else {}


def _selector(layout: Layout, policy: Policy) -> dict[str, str]:
    selector: dict[str, str] = {}
    for feature in layout.features:
        selector |= policy.node_selectors.get(feature, {})
    return selector


def _affinity(template: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """Whole nodes: no other pod of the bridge on the same machine, neither before nor after."""
    if not shape.whole_node:
        return dict(template)
    alone = {
        "topologyKey": _HOSTNAME,
        "labelSelector": {"matchLabels": {naming.MANAGED_BY: "k8s-bridge"}},
    }
    apart = template.get("podAntiAffinity", {})
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return {**template, "podAntiAffinity": {**apart, key: [*apart.get(key, ()), alone]}}


def _volumes(slurmd: Slurmd) -> list[dict[str, Any]]:
    volumes: list[dict[str, Any]] = [
        {
            "name": AUTH_VOLUME,
            "secret": {"secretName": slurmd.auth_secret_name, "defaultMode": _SECRET_MODE},
        }
    ]
    shared = slurmd.shared_storage
    if shared is not None:
        volumes.append({"name": SHARED_VOLUME, "nfs": {"server": shared.nfs_server, "path": shared.nfs_path}})
    return volumes


def _claims(slurmd: Slurmd, templates: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {"name": claim.name, "resourceClaimName": claim.resource_claim_name}
        if claim.resource_claim_name
        else {"name": claim.name, "resourceClaimTemplateName": templates[claim.name]}
        for claim in slurmd.resource_claims
    ]
