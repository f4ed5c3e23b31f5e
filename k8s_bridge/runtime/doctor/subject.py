"""What a doctor is asked to look at, whichever side it is of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from api.v1alpha1.workloadmixing import WorkloadMixing


class Asked(Enum):
    """Whether somebody asked for this side, or for whatever there is."""

    ALONE = auto()
    ALONG = auto()
    """Of a side that no WorkloadMixing names there is nothing to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is examined. `files`: WorkloadMixings that are not in the cluster; `only`: `namespace/name`."""

    namespaces: tuple[str, ...]
    only: tuple[str, ...] = ()
    files: tuple[WorkloadMixing, ...] = ()
    account: str = ""
    """Whose rights are looked at, as `namespace/name`; "": the bridge's, where its Deployment is seen."""
    within: bool = False
    """Whether this runs in a pod of the cluster: in the bridge's own, its rights are the bridge's."""
    asked: Asked = Asked.ALONE
