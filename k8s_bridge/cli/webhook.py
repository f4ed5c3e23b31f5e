"""`k8s-bridge webhook`: holds inner RayJobs where no admission policy can."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any

import click

from k8s_bridge.cli.cluster import cluster_options, server_of
from k8s_bridge.cli.output import EXIT_HELP, Exit, fail
from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.runtime.logging import configure
from k8s_bridge.runtime.redact import Redactor
from k8s_bridge.runtime.settings import Bind, LogFormat, SettingsError


@click.command(epilog=EXIT_HELP, short_help="Admission of inner RayJobs, where policies are not served.")
@cluster_options
@click.option("--namespace", multiple=True, help="Namespace to serve; repeat for more. Else its own.")
@click.option("--listen", default="0.0.0.0:9443", show_default=True, help="Where the API server is answered.")
@click.option("--secret", required=True, help="Secret of its own namespace, for the certificate.")
@click.option("--service", required=True, help="Service by which the API server reaches it.")
@click.option("--configuration", required=True, help="Name of its two webhook configurations.")
@click.option(
    "--log-format",
    type=click.Choice([choice.value for choice in LogFormat]),
    default=LogFormat.AUTO.value,
    show_default=True,
    help="auto: console on a terminal, JSON elsewhere.",
)
def webhook(*, kubeconfig: str, context: str, log_format: str, **options: Any) -> None:
    """Answer the API server about inner RayJobs and their submitters, until SIGTERM or SIGINT.

    It makes its certificate itself, renews it, and tells the API server to trust it.
    """
    server = server_of(kubeconfig, context=context)
    try:
        asyncio.run(_serve(server, LogFormat(log_format), options))
    except SettingsError as error:
        fail(str(error), code=Exit.USAGE)


async def _serve(server: ApiServer, log_format: LogFormat, options: dict[str, Any]) -> None:
    from k8s_bridge.ray.admission import webhook as process  # noqa: PLC0415 - certificates are for this only
    from k8s_bridge.ray.admission.keeper import Place  # noqa: PLC0415 - the same

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    settings = process.Settings(
        namespaces=options["namespace"],
        listen=Bind.parse(options["listen"]),
        place=Place(
            namespace=server.namespace,
            secret=options["secret"],
            service=options["service"],
            configuration=options["configuration"],
        ),
    )
    log = configure(level="info", form=log_format, stream=sys.stdout, redactor=Redactor())
    await process.Webhook(settings, server=server, log=log).run(stop)
