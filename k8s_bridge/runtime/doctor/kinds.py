"""Whether the API server serves the kinds that are spoken. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from k8s_bridge.runtime.doctor.verdict import Finding, fine, wrong

Wanted = Mapping[str, tuple[tuple[str, ...], str]]
"""Plurals by group/version, and the cure where they are missing."""

COMMON: Wanted = {
    "k8s-bridge.x-k8s.io/v1alpha1": (
        ("workloadmixings",),
        "install the CRD: k8s-bridge crd | kubectl apply --server-side --filename -",
    ),
    "kueue.x-k8s.io/v1beta2": (
        (
            "admissionchecks",
            "clusterqueues",
            "localqueues",
            "resourceflavors",
            "topologies",
            "workloadpriorityclasses",
            "workloads",
        ),
        "install Kueue, or upgrade it to a version that serves v1beta2 (tested: 0.17)",
    ),
    "jobset.x-k8s.io/v1alpha2": (("jobsets",), "install JobSet (tested: 0.11)"),
}
"""What both bridges speak."""
KINDS_WHY = "without them nothing can be asked of Kueue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Versions by API group, () where it is not served; and plurals by group/version."""

    versions: Mapping[str, tuple[str, ...]]
    resources: Mapping[str, frozenset[str]]


def kinds_served(wanted: Wanted, served: Served) -> Iterator[Finding]:
    """One finding for each group/version."""
    for version, (plurals, cure) in wanted.items():
        group = version.partition("/")[0]
        others = ", ".join(served.versions.get(group, ()))
        missing = sorted(set(plurals) - served.resources.get(version, frozenset()))
        if not others:
            yield wrong(f"{group} is not served", cure=cure)
        elif missing:
            yield wrong(f"{version} has no {', '.join(missing)} (versions served: {others})", cure=cure)
        else:
            yield fine(f"{version} is served")
