"""The webhook configurations, which the API server calls us by. Pure.

Everything in them fails closed: a job that came past unheld could fail of its wait, or use what it has no
quota for. So that nothing else is stopped by a webhook that is down, it is asked in the namespaces that are
served only, and there for new inner RayJobs, for changes of what their workers were asked for by, and for new
submitters. Deletions do not ask, nor updates of anything else, such as a finalizer that goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from k8s_bridge.ray import cel, names, policies

CHANGE, JUDGE = "/change", "/judge"
"""Paths of the two webhooks."""
_SUFFIX = "ray-bridge.x-k8s.io"
_SECONDS = 5
_ASKED = ", ".join(f"'{name}'" for name in names.ASKED)
_CHANGED = (
    "request.operation == 'CREATE' || object.spec != oldObject.spec || "
    f"[{_ASKED}].exists(a, object.metadata.?annotations[?a] != oldObject.metadata.?annotations[?a])"
)

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The Service by which the webhook is reached, and the namespaces in which it is asked."""

    service: str
    namespace: str
    namespaces: Any


def configurations(name: str, where: Where) -> Iterator[dict[str, Any]]:
    """Both objects, without caBundle: the webhook itself puts it in.

    The API server asks webhooks in the order of their configurations' names, and a suspension by Kueue's that
    came before us would be taken for the owner's wish: `name` must come before `kueue`.
    """
    changing = [
        _webhook("accept", CHANGE, policies.ACCEPT, _fixed(cel.CREATED)),
        _webhook("hold", CHANGE, policies.HOLD, _fixed(cel.SUBMITTER)),
    ]
    judging = [_webhook("check", JUDGE, policies.CHECK, _fixed(cel.WRITTEN, changed=_CHANGED))]
    for kind, webhooks in (("Mutating", changing), ("Validating", judging)):
        yield {
            "apiVersion": f"{policies.GROUP}/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [_placed(webhook, where) for webhook in webhooks],
        }


def _webhook(name: str, path: str, policy: Json, conditions: list[Json]) -> dict[str, Any]:
    constraints = policy["matchConstraints"]
    optional = {
        "reinvocationPolicy": policy.get("reinvocationPolicy"),
        "objectSelector": constraints.get("objectSelector"),
    }
    return {
        "name": f"{name}.{_SUFFIX}",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"path": path, "port": 443}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": _SECONDS,
        **{field: value for field, value in optional.items() if value},
        "rules": constraints["resourceRules"],
        "matchConditions": conditions,
    }


def _placed(webhook: Json, where: Where) -> dict[str, Any]:
    service = {"name": where.service, "namespace": where.namespace}
    served = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": where.namespaces}
    return {
        **webhook,
        "clientConfig": {"service": webhook["clientConfig"]["service"] | service},
        "namespaceSelector": {
            "matchLabels": {names.MANAGED_NAMESPACE: "true"},
            "matchExpressions": [served],
        },
    }


def _fixed(conditions: Mapping[str, str], **more: str) -> list[Json]:
    """The conditions that need no parameters: a webhook's have none."""
    fixed = {name: text for name, text in conditions.items() if "params." not in text}
    return [{"name": name, "expression": text} for name, text in (fixed | more).items()]
