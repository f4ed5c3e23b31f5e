"""Finds the WorkloadMixings that are to be examined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from api.problems import InvalidWorkloadMixing
from api.v1alpha1.workloadmixing import WorkloadMixing
from api.views import Condition
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime.doctor.looking import seen
from k8s_bridge.runtime.doctor.verdict import Hidden, Result, Verdict
from k8s_bridge.runtime.sources import MixingObject, read_object


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A WorkloadMixing, with its conditions when it is in the cluster."""

    mixing: WorkloadMixing
    conditions: tuple[Condition, ...] | None = None

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.mixing.metadata.namespace}/{self.mixing.metadata.name}"


async def find(
    client: KubeClient, namespaces: Iterable[str], *, only: Iterable[str]
) -> tuple[list[Found], list[Result]]:
    """Those that can be read, and what is wrong with the others. `only`: these keys; else all."""
    wanted, found, told = frozenset(only), list[Found](), list[Result]()
    for namespace in namespaces:
        listed = await seen(client.list(MixingObject, namespace=namespace))
        for one in listed.items if listed and not isinstance(listed, Hidden) else ():
            if wanted and one.key not in wanted:
                continue
            try:
                found.append(Found(mixing=read_object(one), conditions=one.status.conditions))
            except InvalidWorkloadMixing as error:
                told += _unreadable(one.key, error)
    return found, told


def _unreadable(key: str, error: InvalidWorkloadMixing) -> Iterator[Result]:
    for problem in error.problems:
        yield Result(
            check="document",
            about=key,
            verdict=Verdict.WRONG,
            seen=f"{problem.path}: {problem.why}",
            why="no bridge can serve it",
            cure=problem.fix,
        )
