"""`k8s-bridge run`: the controller itself."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from api.load import load_file
from api.problems import InvalidWorkloadMixing
from k8s_bridge.cli.cluster import server_of
from k8s_bridge.cli.options import settings_options, to_settings
from k8s_bridge.cli.output import EXIT_HELP, Exit, fail
from k8s_bridge.core.errors import Terminal
from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.runtime import gates
from k8s_bridge.runtime.logging import configure
from k8s_bridge.runtime.process import Process
from k8s_bridge.runtime.product import RAY, SLURM, Product
from k8s_bridge.runtime.redact import Redactor
from k8s_bridge.runtime.services import BridgeFactory
from k8s_bridge.runtime.settings import Settings, SettingsError

Factories = Mapping[Product, Callable[[], BridgeFactory]]


def make_run(factories: Factories) -> click.Command:
    """The command. A factory is called once it is sure that there is something to run."""
    kinds = {_word(product): product for product in factories}

    @click.command(epilog=EXIT_HELP, short_help="The controller itself.")
    @click.argument("bridge", type=click.Choice(list(kinds)), default=_word(SLURM))
    @settings_options
    def run(*, bridge: str, **options: Any) -> None:
        """Bridge Slurm (or Ray) and Kueue for every WorkloadMixing, until SIGTERM or SIGINT."""
        try:
            settings = to_settings(options, product=kinds[bridge])
            if settings.config is not None:
                _check_file(settings.config, settings.gates)
            server = server_of(str(settings.kubeconfig or ""), context=settings.context)
            asyncio.run(_serve(settings, server, factories[kinds[bridge]]()))
        except SettingsError as error:
            fail(str(error), code=Exit.USAGE)
        except Terminal as error:
            fail(str(error), code=Exit.FAILED)

    return run


def _word(product: Product) -> str:
    return "ray" if product is RAY else "slurm"


def _check_file(path: Path, allowed: gates.Gates) -> None:
    """At the start a file that cannot be used ends the command; later the last good revision stays."""
    try:
        problems = gates.problems(load_file(path.read_text(encoding="utf-8"), name=path.stem), allowed)
    except InvalidWorkloadMixing as error:
        problems = error.problems
    except (OSError, UnicodeError) as error:
        raise SettingsError("--config", f"{path} cannot be read: {error}") from error
    if problems:
        fail("\n".join(f"{path}: {problem}" for problem in problems), code=Exit.USAGE)


async def _serve(settings: Settings, server: ApiServer, factory: BridgeFactory) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    redactor = Redactor()
    log = configure(level=settings.log_level, form=settings.log_format, stream=sys.stdout, redactor=redactor)
    process = Process(settings, factory, server=server, log=log, redactor=redactor)
    await process.run(stop)
