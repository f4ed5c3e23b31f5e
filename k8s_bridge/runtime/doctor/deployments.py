"""Whether the Deployments of what must run are available. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from k8s_bridge.runtime.doctor.verdict import Finding, Hidden, doubtful, fine, unseen, wrong
from k8s_bridge.runtime.doctor.views import Deployment

NAME_LABEL, COMPONENT_LABEL = "app.kubernetes.io/name", "app.kubernetes.io/component"


def running(
    name: str, deployments: tuple[Deployment, ...] | Hidden, *, label: str = NAME_LABEL
) -> Iterator[Finding]:
    """One finding for each Deployment whose label `label` is `name`."""
    if isinstance(deployments, Hidden):
        cure = "ask as somebody who may list Deployments in all namespaces"
        yield unseen(f"{name}: {deployments.why}", cure=cure)
        return
    found = [one for one in deployments if one.metadata.labels.get(label) == name]
    if not found:
        text = f"no Deployment is labelled {label}={name}"
        yield unseen(text, cure=f"if {name} does not run otherwise, install it")
    for one in found:
        yield _availability(name, one)


def _availability(name: str, found: Deployment) -> Finding:
    have, want = found.status.available_replicas, found.spec.replicas
    text = f"{name}: {have} of {want} pods of Deployment {found.key} are available"
    if have and have >= want:
        return fine(text)
    place = f"--namespace {found.metadata.namespace} {found.metadata.name}"
    cure = f"see why: kubectl describe deployment {place}"
    return doubtful(text, cure=cure) if have else wrong(text, cure=cure)
