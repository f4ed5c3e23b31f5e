"""`k8s-bridge hook`: what the chart has done around an upgrade and an uninstallation. Not for people."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import click

from api.crd import crd as definition
from k8s_bridge.cli.cluster import act, server_of
from k8s_bridge.cli.output import EXIT_HELP
from k8s_bridge.core import naming
from k8s_bridge.core.effects import Apply, Delete, ObjectRef, Patch
from k8s_bridge.core.errors import Missing
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime.sources import MixingObject

_LOOK_SECONDS = 1.0
Work = Callable[[KubeClient], Coroutine[Any, Any, None]]


@click.group(hidden=True, epilog=EXIT_HELP)
def hook() -> None:
    """Steps of installing, upgrading and uninstalling."""


@hook.command("crd")
def put_definition() -> None:
    """Put this version's CustomResourceDefinition in force: helm upgrades none."""
    _do(_apply_definition)


@hook.command()
@click.argument("mixings", nargs=-1, metavar="NAMESPACE/NAME…")
def drain(*, mixings: tuple[str, ...]) -> None:
    """Delete WorkloadMixings while the bridge is there, and wait until each has gone as its policy says."""
    _do(lambda client: _delete(client, mixings))


@hook.command()
@click.argument("namespaces", nargs=-1, metavar="NAMESPACE…")
def farewell(*, namespaces: tuple[str, ...]) -> None:
    """Take the bridge's finalizer off all WorkloadMixings: nobody is left who would."""
    _do(lambda client: _let_go(client, namespaces))


def _do(work: Work) -> None:
    act(server_of("", context=""), work)


async def _apply_definition(client: KubeClient) -> None:
    manifest = definition()
    ref = ObjectRef(
        api_version=manifest["apiVersion"],
        kind=manifest["kind"],
        plural="customresourcedefinitions",
        namespace="",
        name=manifest["metadata"]["name"],
    )
    await client.apply(Apply(ref=ref, manifest=manifest))
    click.echo(f"{ref.name}: this version's")


async def _delete(client: KubeClient, mixings: tuple[str, ...]) -> None:
    for key in mixings:
        namespace, _, name = key.partition("/")
        found = await _find(client, namespace, name)
        if found is not None:
            click.echo(f"{key}: deletionPolicy {found.spec.get('deletionPolicy')}; waiting until it is gone")
            await client.delete(Delete(ref=ObjectRef.to(found)))
        while await _find(client, namespace, name):  # noqa: ASYNC110 - the bridge is another process
            await asyncio.sleep(_LOOK_SECONDS)


async def _find(client: KubeClient, namespace: str, name: str) -> MixingObject | None:
    try:
        return await client.get(MixingObject, name=name, namespace=namespace)
    except Missing:
        return None


async def _let_go(client: KubeClient, namespaces: tuple[str, ...]) -> None:
    for namespace in namespaces:
        for found in (await client.list(MixingObject, namespace=namespace)).items:
            have = found.metadata.finalizers
            if naming.DRAIN_FINALIZER in have:
                left = [one for one in have if one != naming.DRAIN_FINALIZER]
                await client.patch(
                    Patch(
                        ref=ObjectRef.to(found),
                        patch={"metadata": {"finalizers": left or None}},
                        resource_version=found.metadata.resource_version,
                    )
                )
                click.echo(f"{found.key}: finalizer taken off")
