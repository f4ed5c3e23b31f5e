"""Which cluster: the options that kubectl has for it, and the API server that they lead to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from k8s_bridge.cli.output import Exit, fail
from k8s_bridge.core.errors import Terminal
from k8s_bridge.kube import auth
from k8s_bridge.kube.apiserver import ApiServer

F = TypeVar("F", bound=Callable[..., Any])


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
