"""Where the bridges are that `top` and `explain` ask: at an address, or behind kubectl port-forward."""

from __future__ import annotations

import contextlib
import functools
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click

from k8s_bridge.cli.cluster import ask, server_of
from k8s_bridge.cli.output import Exit, fail
from k8s_bridge.cli.remote import DEFAULT_ADDRESS, Remote, Remotes
from k8s_bridge.kube.lease import Lease
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime.settings import HTTP_PORT
from k8s_bridge.runtime.turn import Turn

_LEASES = re.compile(r".*(k8s|ray)-bridge(-ray)?-leader")
"""What the chart and the bridges call their leases, whatever the release is called."""
_FORWARDED = re.compile(r"Forwarding from (127\.0\.0\.1:\d+) ")


def bridge_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give `command` the options that say where the bridges are; it gets `remotes` in their place."""

    @functools.wraps(command)
    def with_remote(**options: Any) -> None:
        where = {name: options.pop(name) for name in ("address", "kubeconfig", "context", "namespace")}
        lease, port = options.pop("lease_name"), options.pop("port")
        with _reached(**where, lease=lease, port=port) as remotes:
            command(remotes=remotes, **options)

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
        "--namespace", "-n", default="", help="Ask the pods that lead there, by kubectl port-forward."
    ),
    click.option("--context", default="", help="The same, in the cluster of this context."),
    click.option("--kubeconfig", default="", help="The same, in the cluster of this kubeconfig."),
    click.option(
        "--lease-name",
        default="",
        help="The lease that tells who leads. Else those of all bridges there, by the chart's names.",
    ),
    click.option("--port", default=HTTP_PORT, show_default=True, help="HTTP port of the pods."),
)


@contextlib.contextmanager
def _reached(  # noqa: PLR0913 - one for each option
    *, address: str, kubeconfig: str, context: str, namespace: str, lease: str, port: int
) -> Iterator[Remotes]:
    if not (kubeconfig or context or namespace):
        yield Remotes([Remote(address)])
        return
    server = server_of(kubeconfig, context=context)
    place = namespace or server.namespace
    pods = ask(server, lambda client: _leaders(client, lease, namespace=place))
    if not pods:
        which = f"lease {place}/{lease}" if lease else f"the lease of a bridge in {place}"
        fail(
            f"nobody holds {which}: no bridge leads. `kubectl get pods --namespace {place}`\n"
            "shows whether one runs; `k8s-bridge doctor` what is wrong. --lease-name names a lease that is\n"
            "not called as the chart calls it.",
            code=Exit.NO_BRIDGE,
        )
    chosen = [f"--kubeconfig={kubeconfig}"] if kubeconfig else []
    chosen += [f"--context={context}"] if context else []
    with contextlib.ExitStack() as stack:
        yield Remotes(_each(stack, pods, port, options=[*chosen, f"--namespace={place}"]))


async def _leaders(client: KubeClient, lease: str, *, namespace: str) -> list[str]:
    """The pods that lead: of the bridge with that lease, or of every bridge."""
    if lease:
        found = [await client.get(Lease, name=lease, namespace=namespace)]
    else:
        there = (await client.list(Lease, namespace=namespace)).items
        found = [one for one in there if _LEASES.fullmatch(one.metadata.name)]
    turns = (Turn(leads=False, leader=one.spec.holder_identity or "") for one in found)
    return sorted({turn.pod for turn in turns if turn.pod})


def _each(stack: contextlib.ExitStack, pods: Iterable[str], port: int, *, options: list[str]) -> list[Remote]:
    """All that are reached; one that is not must not hide what the others know."""
    remotes: list[Remote] = []
    missed: list[click.ClickException] = []
    for pod in pods:
        try:
            remotes.append(Remote(stack.enter_context(_forwarded(f"pod/{pod}", port, options=options))))
        except click.ClickException as error:
            missed.append(error)
    if not remotes:
        raise missed[0]
    for one in missed:
        click.echo(f"Left out: {one.format_message()}", err=True)
    return remotes


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
