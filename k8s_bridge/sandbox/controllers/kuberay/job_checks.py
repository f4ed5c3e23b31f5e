"""What KubeRay 1.6 refuses in a RayJob: it says so in the status, and does nothing more. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from k8s_bridge.sandbox.apiserver.errors import Json

LONGEST_NAME = 47
_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_INVALID = "The RayJob spec is invalid: "
_METADATA = "The RayJob metadata is invalid: "
_NOT_A_LABEL = (
    "[a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')]"
)
SELECTOR = "ray.io/cluster"
Spec = Mapping[str, object]


def problem(job: Json) -> tuple[str, str]:
    """(reason of the event, message) of the first thing that is wrong; ("", "") when nothing is."""
    name = job["metadata"]["name"]
    if len(name) > LONGEST_NAME:
        why = f"RayJob name should be no more than {LONGEST_NAME} characters"
        return "InvalidRayJobMetadata", _METADATA + why
    if not _LABEL.fullmatch(name):
        why = f"RayJob name should be a valid DNS1035 label: {_NOT_A_LABEL}"
        return "InvalidRayJobMetadata", _METADATA + why
    for wrong, message in _RULES:
        if wrong(job["spec"]):
            return "InvalidRayJobSpec", message
    return "", ""


def _has_cluster(spec: Json) -> bool:
    return bool(spec.get("clusterSelector"))


def _retries(spec: Json) -> bool:
    return bool((spec.get("backoffLimit") or 0) > 0)


_RULES: tuple[tuple[Callable[[Json], bool], str], ...] = (
    (
        lambda spec: bool(spec.get("suspend")) and not spec.get("shutdownAfterJobFinishes"),
        _INVALID + "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended",
    ),
    (
        lambda spec: (spec.get("ttlSecondsAfterFinished") or 0) < 0,
        _INVALID + "TTLSecondsAfterFinished must be a non-negative integer",
    ),
    (
        lambda spec: (
            not spec.get("shutdownAfterJobFinishes") and (spec.get("ttlSecondsAfterFinished") or 0) > 0
        ),
        _INVALID + "a RayJob with shutdownAfterJobFinishes set to false cannot have TTLSecondsAfterFinished",
    ),
    (
        lambda spec: bool(spec.get("suspend")) and _has_cluster(spec),
        _INVALID + "the ClusterSelector mode doesn't support the suspend operation",
    ),
    (
        lambda spec: not spec.get("rayClusterSpec") and not _has_cluster(spec),
        _INVALID + "one of RayClusterSpec or ClusterSelector must be set",
    ),
    (
        lambda spec: _has_cluster(spec) and not spec["clusterSelector"].get(SELECTOR),
        "cluster name in ClusterSelector should not be empty",
    ),
    (
        lambda spec: _has_cluster(spec) and spec.get("submissionMode") == "SidecarMode",
        "ClusterSelector is not supported in SidecarMode",
    ),
    (
        lambda spec: _has_cluster(spec) and _retries(spec),
        _INVALID + "BackoffLimit is incompatible with ClusterSelector mode",
    ),
    (
        lambda spec: spec.get("submissionMode") == "InteractiveMode" and _retries(spec),
        _INVALID + "BackoffLimit is incompatible with InteractiveMode",
    ),
    (
        lambda spec: spec.get("activeDeadlineSeconds", 1) <= 0,
        _INVALID + "activeDeadlineSeconds must be a positive integer",
    ),
    (
        lambda spec: (spec.get("backoffLimit") or 0) < 0,
        _INVALID + "backoffLimit must be a positive integer",
    ),
)
