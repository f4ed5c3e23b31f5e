"""What the sandbox kubelet asks of whoever really runs a pod. A protocol only: no I/O, no clock.

The kubelet owns the pod's status; a runtime owns the process. The kubelet calls `start` once a pod, then
waits for `ready` and `wait` side by side, and calls `terminate` when the pod is deleted. A runtime never
reads or writes the API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Pod = Mapping[str, Any]
"""A pod as the API shows it (camelCase keys). Runtimes must not change it."""

SIGKILL_EXIT = 137
SIGTERM_EXIT = 143


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitStatus:
    """How a pod's main container ended: `code` is what a shell would call $?, 128 + n for signal n.

    `cause` is a reason that the code alone does not tell, such as OOMKilled.
    """

    code: int
    message: str = ""
    cause: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether Kubernetes would call the pod Succeeded."""
        return self.code == 0

    @property
    def reason(self) -> str:
        """The reason that a kubelet writes into the terminated state."""
        return self.cause or ("Completed" if self.succeeded else "Error")


@dataclass(frozen=True, slots=True, kw_only=True)
class PodEnv:
    """What a kubelet knows and the pod's own object does not say."""

    node: str
    """Name of the Kubernetes node that the pod is bound to."""
    pod_ip: str = "127.0.0.1"
    variables: Mapping[str, str] = field(default_factory=dict)
    """The main container's environment, downward-API references (POD_NAME and the like) resolved."""


class ImagePullError(Exception):
    """The image of the pod cannot be had; the text goes into the container's waiting state."""


class RunningPod(Protocol):
    """One started pod. `wait` may be awaited more than once and by more than one task."""

    async def ready(self) -> None:
        """Return when the pod may be called Ready; never returns if it ends before that."""

    async def wait(self) -> ExitStatus:
        """Return when the main container has ended."""

    async def terminate(self, *, grace: float) -> None:
        """Ask it to end (SIGTERM), force it after `grace` seconds; 0 forces at once. Idempotent.

        Returns when the end is certain; `wait` then answers at once.
        """


class PodRuntime(Protocol):
    """Runs pods of one sort."""

    async def start(self, pod: Pod, env: PodEnv) -> RunningPod:
        """Start the pod's process. Raises ImagePullError when there is no such image."""


SelectRuntime = Callable[[Pod], PodRuntime]
"""Chooses the runtime of a pod, for example by the name of its first container."""


def main_container(pod: Pod) -> Mapping[str, Any]:
    """The container that decides about the pod: the first one."""
    first: Mapping[str, Any] = pod["spec"]["containers"][0]
    return first


def runtime_by_container(runtimes: Mapping[str, PodRuntime], *, default: PodRuntime) -> SelectRuntime:
    """A chooser that looks for the main container's name in `runtimes`, such as {"slurmd": …}."""

    def select(pod: Pod) -> PodRuntime:
        return runtimes.get(main_container(pod).get("name", ""), default)

    return select
