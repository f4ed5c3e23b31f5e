"""What somebody may do, and whether that is all that is needed. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from k8s_bridge.runtime.doctor.verdict import Finding, Hidden, fine, unseen, wrong

_BY_NAME = ("secrets", "configmaps")
"""The chart gives these one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """One verb on one resource. `namespace` "": cluster-wide; `name` "": any object of the kind."""

    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        what = f"{self.resource}.{self.group}" if self.group else self.resource
        named = f" {self.name}" if self.name else ""
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {what}{named}{where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Where the chart's values give rights to a bridge: its section, and what names single objects there."""

    bridge: str
    names: str

    def cure(self, denied: Sequence[Right]) -> str:
        """How these rights are given."""
        named = sorted({one.name for one in denied if one.resource in _BY_NAME})
        if named:
            return f"name them in {self.bridge}.rbac.{self.names} of the chart: {', '.join(named)}"
        namespace = next((one.namespace for one in denied), "")
        served = f" with {namespace} in {self.bridge}.namespaces" if namespace else ""
        return f"install the chart's roles (helm upgrade{served}), or grant the rights by hand"


def all_allowed(rights: Mapping[Right, bool | Hidden], *, whose: str, chart: Chart) -> Iterator[Finding]:
    """One finding for each namespace in which something is denied. `whose` "": of whoever asks."""
    denied: dict[str, list[Right]] = defaultdict(list)
    for right, allowed in rights.items():
        if isinstance(allowed, Hidden):
            cure = "ask from within: kubectl exec deploy/k8s-bridge -- k8s-bridge doctor"
            yield unseen(f"the rights of {whose or 'yourself'}: {allowed.why}", cure=cure)
            return
        if not allowed:
            denied[right.namespace].append(right)
    if denied and not whose:
        cure = "name the bridge's ServiceAccount with --service-account, or run this in its pod"
        yield unseen("these are your own rights, not the bridge's, and some are missing", cure=cure)
        return
    for missing in denied.values():
        text = "; ".join(map(str, missing))
        yield wrong(f"{whose} may not: {text}", cure=chart.cure(missing))
    if not denied:
        yield fine(f"{whose or 'whoever runs this'} has all {len(rights)} rights that are needed")
