"""JSON as the API server writes it."""

from __future__ import annotations

import json
from typing import Any

from k8s_bridge.core.effects import ObjectRef

PODS = "/api/v1/pods"


def pod(name: str, version: int, **status: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "ns", "uid": f"u-{name}", "resourceVersion": str(version)}
    return {"kind": "Pod", "metadata": meta, "spec": {"nodeName": "n1"}, "status": status}


def malformed(name: str, version: int) -> dict[str, Any]:
    return pod(name, version, phase=["not", "a", "string"])


def pod_list(*items: dict[str, Any], version: int, more: str = "") -> dict[str, Any]:
    meta = {"resourceVersion": str(version), **({"continue": more} if more else {})}
    return {"kind": "PodList", "metadata": meta, "items": list(items)}


def line(change: str, obj: dict[str, Any]) -> bytes:
    return json.dumps({"type": change, "object": obj}, ensure_ascii=False).encode() + b"\n"


def bookmark(version: int) -> bytes:
    meta = {"resourceVersion": str(version), "creationTimestamp": None}
    return line("BOOKMARK", {"kind": "Pod", "metadata": meta, "spec": {"containers": None}, "status": {}})


def status(code: int, reason: str, **details: Any) -> dict[str, Any]:
    return {"kind": "Status", "code": code, "reason": reason, "message": "some text", "details": details}


def ref(*, uid: str = "") -> ObjectRef:
    return ObjectRef(
        api_version="jobset.x-k8s.io/v1alpha2",
        kind="JobSet",
        plural="jobsets",
        namespace="ns",
        name="slurm-job-7",
        uid=uid,
    )


JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets"
JOBSET = f"{JOBSETS}/slurm-job-7"
