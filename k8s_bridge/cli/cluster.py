"""Which cluster: the options that kubectl has for it, and questions to its API server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import click

from k8s_bridge.cli.output import Exit, fail
from k8s_bridge.core.errors import BridgeError, Missing, Terminal
from k8s_bridge.kube import auth
from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.kube.http import MayWrite
from k8s_bridge.kube.transport import KubeClient

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def cluster_options(command: F) -> F:
    """Give `command` --kubeconfig and --context."""
    context = click.option("--context", default="", help="Context of the kubeconfig. Else its current one.")
    kubeconfig = click.option("--kubeconfig", default="", help="Kubeconfig. Else as for `run`.")
    return kubeconfig(context(command))


def server_of(kubeconfig: str, *, context: str) -> ApiServer:
    """The API server. Ends the command when there is none, or its description is wrong."""
    try:
        return auth.load(kubeconfig, context=context)
    except Terminal as error:
        fail(f"{error}.\nName one with --kubeconfig and --context, or set KUBECONFIG.", code=Exit.USAGE)


def ask(server: ApiServer, question: Callable[[KubeClient], Awaitable[T]]) -> T:
    """The answer. Ends the command, saying which server and what next, when there is none."""
    return _done(server, question, may_write=lambda: False)


def act(server: ApiServer, work: Callable[[KubeClient], Awaitable[T]]) -> T:
    """What comes of work that may change things. Ends the command as `ask` does."""
    return _done(server, work, may_write=lambda: True)


def _done(server: ApiServer, work: Callable[[KubeClient], Awaitable[T]], *, may_write: MayWrite) -> T:
    async def with_client() -> T:
        async with KubeClient(server, may_write=may_write) as client:
            return await work(client)

    try:
        return asyncio.run(with_client())
    except Missing as error:
        fail(f"{server.base_url}: {error}.\nCheck the name, and the cluster (--context).", code=Exit.FAILED)
    except BridgeError as error:
        fail(
            f"{server.base_url}: {error}.\n"
            "`kubectl version` and `kubectl auth whoami` with the same --kubeconfig and --context tell\n"
            "whether the server answers and takes you in; `k8s-bridge doctor` looks at the rest.",
            code=Exit.FAILED,
        )
