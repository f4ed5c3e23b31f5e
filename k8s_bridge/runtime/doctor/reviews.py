"""Asks the API server what somebody may do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

import msgspec

from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime.doctor.looking import seen
from k8s_bridge.runtime.doctor.rights import Right
from k8s_bridge.runtime.doctor.verdict import Hidden


class _ReviewStatus(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _ReviewStatus = _ReviewStatus()


async def reviewed(
    client: KubeClient, wanted: Iterable[Right], *, account: str
) -> Mapping[Right, bool | Hidden]:
    """What may be done, by the ServiceAccount `namespace/name`, or by whoever asks when it is ""."""
    kind, who = _subject(account)
    asked = tuple(dict.fromkeys(wanted))
    answers = await asyncio.gather(*(seen(_review(client, kind, who, right)) for right in asked))
    return {right: answer or False for right, answer in zip(asked, answers, strict=True)}


def _subject(account: str) -> tuple[str, Mapping[str, object]]:
    if not account:
        return "SelfSubjectAccessReview", {}
    namespace, _, name = account.partition("/")
    all_, here = "system:serviceaccounts", f"system:serviceaccounts:{namespace}"
    user = f"system:serviceaccount:{namespace}:{name}"
    return "SubjectAccessReview", {"user": user, "groups": [all_, here, "system:authenticated"]}


async def _review(client: KubeClient, kind: str, who: Mapping[str, object], right: Right) -> bool:
    resource, _, subresource = right.resource.partition("/")
    attributes = {
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "verb": right.verb,
        "namespace": right.namespace,
        "name": right.name,
    }
    given = {key: value for key, value in attributes.items() if value}
    body = await client.review(kind, spec={**who, "resourceAttributes": given})
    return msgspec.json.decode(body, type=_Review).status.allowed
