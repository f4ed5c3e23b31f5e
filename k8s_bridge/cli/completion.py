"""Shell completion: the scripts for shells, and values asked of a bridge or a cluster while one types.

Whoever types must never wait long nor see an error: what cannot be had soon is not completed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from k8s_bridge.cli.output import EXIT_HELP
from k8s_bridge.cli.remote import DEFAULT_ADDRESS, Remote
from k8s_bridge.core.errors import BridgeError
from k8s_bridge.kube import auth
from k8s_bridge.kube.http import Limits
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime.sources import MixingObject
from k8s_bridge.runtime.units import UnitRow

SHELLS = ("bash", "zsh", "fish")
_PATIENCE = 1.0
_LIMITS = Limits(connect=_PATIENCE, read=_PATIENCE, total=2 * _PATIENCE, farewell=0.1)
_DIRECTIVE_NO_FILES = ":4"
"""What ends the answer of a kubectl plugin: offer no file names."""


@click.command(epilog=EXIT_HELP, short_help="Completion for bash, zsh or fish.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, *, shell: str) -> None:
    r"""Print the script that makes SHELL complete commands, options, job ids and WorkloadMixings.

    \b
    bash:  k8s-bridge completion bash > /etc/bash_completion.d/k8s-bridge
    zsh:   k8s-bridge completion zsh > "${fpath[1]}/_k8s-bridge"
    fish:  k8s-bridge completion fish > ~/.config/fish/completions/k8s-bridge.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    program = context.find_root().command
    made = kind(program, {}, "k8s-bridge", "_K8S_BRIDGE_COMPLETE")
    click.echo(made.source_template % made.source_vars())


def complete_for_kubectl(program: click.Command) -> None:
    """What kubectl_complete-bridge prints, for `kubectl bridge` and a tab: one value a line."""
    words = sys.argv[1:] or [""]
    found = ShellComplete(program, {}, "kubectl bridge", "").get_completions(words[:-1], words[-1])
    for item in found:
        click.echo(f"{item.value}\t{item.help}" if item.help else item.value)
    click.echo(_DIRECTIVE_NO_FILES)


def complete_jobs(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Jobs that the bridge knows, each with its state."""
    rows = _rows(context)
    return [
        CompletionItem(r.name, help=f"{r.state} {r.user}".strip()) for r in rows if _fits(r.name, incomplete)
    ]


def complete_partitions(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Partitions that have units."""
    return _values(_rows(context), lambda row: row.partition, incomplete)


def complete_users(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """People who have units."""
    return _values(_rows(context), lambda row: row.user, incomplete)


def complete_mixings(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """WorkloadMixings of the cluster, as namespace/name."""
    options = context.params

    async def listed() -> list[str]:
        server = auth.load(options.get("kubeconfig") or "", context=options.get("context") or "")
        async with KubeClient(server, limits=_LIMITS, may_write=lambda: False) as client:
            return [found.key for found in (await client.list(MixingObject)).items]

    with contextlib.suppress(BridgeError):
        return sorted(key for key in asyncio.run(listed()) if _fits(key, incomplete))
    return []


def _rows(context: click.Context) -> list[UnitRow]:
    address = context.params.get("address") or os.environ.get("K8S_BRIDGE_ADDRESS") or DEFAULT_ADDRESS
    with contextlib.suppress(click.ClickException):
        return Remote(address, seconds=_PATIENCE).units()
    return []


def _values(rows: Iterable[UnitRow], of: Callable[[UnitRow], str], incomplete: str) -> list[str]:
    return sorted({value for row in rows if (value := of(row)) and _fits(value, incomplete)})


def _fits(value: str, incomplete: str) -> bool:
    return value.startswith(incomplete)
