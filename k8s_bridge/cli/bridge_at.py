"""Where the bridge is that `top` and `explain` ask: at an address, or behind kubectl port-forward."""

from __future__ import annotations

import contextlib
import functools
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import click

from k8s_bridge.cli.cluster import ask, server_of
from k8s_bridge.cli.output import Exit, fail
from k8s_bridge.cli.remote import DEFAULT_ADDRESS, Remote
from k8s_bridge.kube.lease import Lease
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime.settings import HTTP_PORT, LEASE_NAME
from k8s_bridge.runtime.turn import Turn

_FORWARDED = re.compile(r"Forwarding from (127\.0\.0\.1:\d+) ")


def bridge_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give `command` the options that say where the bridge is; it gets `remote` in their place."""

    @functools.wraps(command)
    def with_remote(**options: Any) -> None:
        where = {name: options.pop(name) for name in ("address", "kubeconfig", "context", "namespace")}
        lease, port = options.pop("lease_name"), options.pop("port")
        with _reached(**where, lease=lease, port=port) as remote:
            command(remote=remote, **options)

    for option in reversed(_OPTIONS):
        with_remote = option(with_remote)
    return with_remote


_OPTIONS = (
    click.option(
        "--address",
        envvar="K8S_BRIDGE_ADDRESS",
        default=DEFAULT_ADDRESS,
        show_default=True,
        show_envvar=True,
        help="HTTP address of a running bridge.",
    ),
    click.option(
        "--namespace", "-n", default="", help="Ask the pod that leads there, by kubectl port-forward."
    ),
    click.option("--context", default="", help="The same, in the cluster of this context."),
    click.option("--kubeconfig", default="", help="The same, in the cluster of this kubeconfig."),
    click.option(
        "--lease-name", default=LEASE_NAME, show_default=True, help="The lease that tells who leads."
    ),
    click.option("--port", default=HTTP_PORT, show_default=True, help="HTTP port of the pod."),
)


@contextlib.contextmanager
def _reached(  # noqa: PLR0913 - one for each option
    *, address: str, kubeconfig: str, context: str, namespace: str, lease: str, port: int
) -> Iterator[Remote]:
    if not (kubeconfig or context or namespace):
        yield Remote(address)
        return
    server = server_of(kubeconfig, context=context)
    place = namespace or server.namespace

    async def holder(client: KubeClient) -> str:
        return (await client.get(Lease, name=lease, namespace=place)).spec.holder_identity or ""

    pod = Turn(leads=False, leader=ask(server, holder)).pod
    if not pod:
        fail(
            f"nobody holds lease {place}/{lease}: no bridge leads. `kubectl get pods --namespace {place}`\n"
            "shows whether one runs; `k8s-bridge doctor` what is wrong.",
            code=Exit.NO_BRIDGE,
        )
    chosen = [f"--kubeconfig={kubeconfig}"] if kubeconfig else []
    chosen += [f"--context={context}"] if context else []
    with _forwarded(f"pod/{pod}", port, options=[*chosen, f"--namespace={place}"]) as found:
        yield Remote(found)


@contextlib.contextmanager
def _forwarded(pod: str, port: int, *, options: list[str]) -> Iterator[str]:
    """The address on loopback that leads to the pod's port, as long as the context lasts."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        fail(
            "kubectl is not on PATH, and the pod is reached by its port-forward. Install kubectl, or\n"
            "forward the port by other means and give --address.",
            code=Exit.USAGE,
        )
    command = [kubectl, "port-forward", *options, "--address=127.0.0.1", pod, f":{port}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - no shell, kubectl of PATH
        try:
            assert process.stdout is not None
            match = _FORWARDED.match(process.stdout.readline())
            if match is None:
                fail(f"{' '.join(command)}: {_last_words(process)}", code=Exit.NO_BRIDGE)
            yield f"http://{match[1]}"
        finally:
            process.terminate()


def _last_words(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    process.terminate()
    return process.stderr.read().strip() or "no forwarding, and no word why"
