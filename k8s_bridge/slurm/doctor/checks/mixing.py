"""Checks of one WorkloadMixing itself: its status, what it names, and what the platform allows. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from api.v1alpha1.status import ConditionType
from api.v1alpha1.workloadmixing import WorkloadMixing
from k8s_bridge.core.admission import condition, is_true
from k8s_bridge.runtime import gates as platform
from k8s_bridge.runtime.doctor.verdict import Check, Finding, Hidden, doubtful, fine, unseen, wrong
from k8s_bridge.runtime.doctor.views import Namespace
from k8s_bridge.slurm.doctor.checks.queues import QUEUES
from k8s_bridge.slurm.doctor.sight import MixingSight
from k8s_bridge.slurm.policy import Policies

AUTH_KEY = "slurm.key"
_ENFORCE = "pod-security.kubernetes.io/enforce"
_LAX = "privileged"
_BAD: Mapping[str, str] = {**dict.fromkeys(ConditionType, "False"), ConditionType.CONFLICTING: "True"}
"""The bad status of each condition of ours."""


def served(sight: MixingSight) -> Iterator[Finding]:
    """A bridge serves it, and found nothing wrong."""
    if sight.conditions is None:
        return
    if not sight.conditions:
        cure = "start a bridge, and have it serve this namespace (slurmBridge.namespaces, --namespace)"
        yield wrong("no bridge has looked at it: it has no status", cure=cure)
        return
    bad = [one for one in sight.conditions if one.type in _BAD and one.status == _BAD[one.type]]
    ready = condition(sight.conditions, ConditionType.READY)
    if not bad and is_true(ready):
        yield fine("the bridge says that it is ready")
    details = [one for one in bad if one is not ready]
    for one in details or bad:
        cure = "see the other checks here, and `kubectl describe workloadmixing`"
        yield wrong(f"the bridge says {one.type}={one.status} ({one.reason}): {one.message}", cure=cure)


def partitions_once(sight: MixingSight) -> Iterator[Finding]:
    """No other WorkloadMixing of the same slurmrestd manages one of its partitions."""
    for partition, other in sight.rivals.items():
        cure = "take the partition out of one of the two"
        yield wrong(
            f"partition {partition} is managed by {other} too; the older of the two serves it", cure=cure
        )
    if not sight.rivals:
        yield fine("its partitions are managed by nobody else")


def objects(sight: MixingSight) -> Iterator[Finding]:
    """The Secrets and ConfigMaps that it names are there, with their keys."""
    where = sight.mixing.metadata.namespace
    for kind, name, key, field in references(sight.mixing):
        found = sight.objects.get((kind, name))
        if isinstance(found, Hidden):
            yield unseen(
                f"{kind} {where}/{name}: {found.why}", cure=f"ask as somebody who may get {kind}s there"
            )
        elif found is None:
            yield wrong(f"{kind} {where}/{name} is not there", cure=f"create it, or correct {field}")
        elif key and key not in found:
            has = ", ".join(sorted(found)) or "none"
            yield wrong(
                f"{kind} {where}/{name} has no key {key} (keys: {has})",
                cure=f"add the key, or correct {field}",
            )
        else:
            yield fine(f"{kind} {where}/{name} is there")


def references(mixing: WorkloadMixing) -> Iterator[tuple[str, str, str, str]]:
    """(kind, name, key, field) of each object that the spec names; key "" for those that need none."""
    spec = mixing.spec
    yield "Secret", spec.slurmd.auth_secret_name, AUTH_KEY, "slurmd.authSecretName"
    if spec.slurm_token_secret_ref:
        ref = spec.slurm_token_secret_ref
        yield "Secret", ref.name, ref.key, "slurmTokenSecretRef"
    if spec.slurm_ca_ref:
        yield spec.slurm_ca_ref.kind.value, spec.slurm_ca_ref.name, spec.slurm_ca_ref.key, "slurmCARef"
    if spec.slurm_client_cert_ref:
        yield "Secret", spec.slurm_client_cert_ref.name, "tls.crt", "slurmClientCertRef"
        yield "Secret", spec.slurm_client_cert_ref.name, "tls.key", "slurmClientCertRef"
    for name in sorted(_pull_secrets(mixing)):
        yield "Secret", name, "", "imagePullSecrets of podTemplate"


def _pull_secrets(mixing: WorkloadMixing) -> set[str]:
    specs = (mapping.pod_template.get("spec") or {} for mapping in mixing.spec.partition_mappings)
    named = {item.get("name", "") for spec in specs for item in spec.get("imagePullSecrets") or ()}
    return {name for name in named if name and "{" not in name}


def pod_security(sight: MixingSight) -> Iterator[Finding]:
    """Pod Security lets slurmd pods into the namespace."""
    if not isinstance(sight.namespace, Namespace):
        return
    level = sight.namespace.metadata.labels.get(_ENFORCE, _LAX)
    if level == _LAX:
        yield fine("Pod Security allows slurmd pods")
        return
    how = "privileged" if sight.mixing.spec.slurmd.privileged else "with added capabilities"
    yield wrong(
        f"namespace {sight.namespace.metadata.name} enforces Pod Security {level}, and slurmd runs {how}",
        cure=f"kubectl label --overwrite namespace {sight.namespace.metadata.name} {_ENFORCE}={_LAX}",
    )


def gates(sight: MixingSight) -> Iterator[Finding]:
    """The running bridge's gates allow it."""
    if sight.gates is None:
        return
    problems = platform.problems(sight.mixing, sight.gates)
    for one in problems:
        yield wrong(f"{one.path}: {one.why}", cure=f"{one.fix}; or widen slurmBridge.gates of the chart")
    if not problems:
        yield fine("the platform's gates allow it")


def in_force(sight: MixingSight) -> Iterator[Finding]:
    """Every field that is set has an effect."""
    for text in Policies(sight.mixing).without_effect():
        yield doubtful(text, cure="take it out, or set the other")


MIXING = (
    Check(name="served", why="its jobs stay held", look=served),
    *QUEUES,
    Check(name="partitions-once", why="only one of them gets the partition's jobs", look=partitions_once),
    Check(name="objects", why="slurmrestd cannot be asked, or pods do not start", look=objects),
    Check(name="pod-security", why="the API server refuses every slurmd pod", look=pod_security),
    Check(name="gates", why="the bridge refuses to serve it", look=gates),
    Check(name="in-force", why="somebody relies on what does not happen", look=in_force),
)
"""All of them."""
