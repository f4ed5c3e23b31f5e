"""Pod templates that cannot be compiled: found out at intake, so that no bridge ever meets them."""

from __future__ import annotations

from collections.abc import Iterator

from api.problems import Problem
from api.v1alpha1 import WorkloadMixing
from k8s_bridge.core.rendering import TemplateError, compile_tree


def problems(mixing: WorkloadMixing) -> tuple[Problem, ...]:
    """What is wrong, one problem a template; () when all compile."""
    return tuple(_found(mixing))


def _found(mixing: WorkloadMixing) -> Iterator[Problem]:
    spec = mixing.spec
    templates = {
        f"spec.partitionMappings[{index}].podTemplate": partition.pod_template
        for index, partition in enumerate(spec.partition_mappings)
    }
    if spec.ray is not None:
        for index, cluster in enumerate(spec.ray.managed_clusters):
            templates[f"spec.ray.managedClusters[{index}].podTemplate"] = cluster.pod_template
        for index, pool in enumerate(spec.ray.pool_mappings):
            templates[f"spec.ray.poolMappings[{index}].podTemplate"] = pool.pod_template
    for path, template in templates.items():
        try:
            compile_tree(template)
        except TemplateError as error:
            why = str(error).removeprefix(f"{error.path}: ")
            yield Problem(path=f"{path}.{error.path}", why=why, fix="correct the template")
    for index, claim in enumerate(spec.slurmd.resource_claims):
        path = f"spec.slurmd.resourceClaims[{index}].resourceClaimTemplateName"
        try:
            compile_tree(claim.resource_claim_template_name)
        except TemplateError as error:
            yield Problem(path=path, why=str(error), fix="correct the template")
