"""The options of `run`: deploy-time settings, each with an environment variable for the chart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from k8s_bridge.runtime.gates import Gates, Transport
from k8s_bridge.runtime.product import SLURM, Product
from k8s_bridge.runtime.settings import (
    HTTP_PORT,
    Bind,
    Election,
    LogFormat,
    Settings,
    SettingsError,
)

F = TypeVar("F", bound=Callable[..., Any])

_PREFIX = "K8S_BRIDGE_"


def _option(name: str, text: str, **more: Any) -> Callable[[F], F]:
    env = _PREFIX + name.removeprefix("--").replace("-", "_").upper()
    return click.option(name, help=text, envvar=env, show_envvar=True, **more)


_FILE = click.Path(path_type=Path, dir_okay=False)

_OPTIONS = (
    _option(
        "--kubeconfig",
        "Kubeconfig. Else KUBECONFIG, the pod's service account, or ~/.kube/config.",
        type=_FILE,
    ),
    _option("--context", "Context of the kubeconfig. Else its current one.", default=""),
    _option("--namespace", "Namespace to serve; repeat for more. Else the instance's own.", multiple=True),
    _option("--workloadmixing", "Serve this one only: namespace/name.", default=""),
    _option(
        "--config",
        "Serve the WorkloadMixing in this file in place of custom resources; reloaded when it changes.",
        type=_FILE,
    ),
    _option(
        "--election",
        "How instances take turns. none: this is the only instance.",
        type=click.Choice([choice.value for choice in Election]),
        default=Election.LEASE.value,
        show_default=True,
    ),
    _option("--lease-name", "Name of the Lease. Else that of the bridge that is run.", default=""),
    _option("--lease-namespace", "Namespace of the Lease. Else the instance's own.", default=""),
    _option(
        "--http",
        "Where probes, metrics and nudges are served; port 0 takes a free one.",
        default=f"127.0.0.1:{HTTP_PORT}",
        show_default=True,
    ),
    _option(
        "--http-token-file",
        "File with a token: the status page is shown to whoever sends it (bearer, or as a password). "
        "Without one, over loopback only.",
        type=_FILE,
    ),
    _option(
        "--log-level",
        "The least that is logged.",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default="info",
        show_default=True,
    ),
    _option(
        "--log-format",
        "auto: console on a terminal, JSON elsewhere.",
        type=click.Choice([choice.value for choice in LogFormat]),
        default=LogFormat.AUTO.value,
        show_default=True,
    ),
    _option(
        "--workers",
        "Units of one WorkloadMixing that are worked on at a time.",
        type=click.IntRange(1, 256),
        default=8,
        show_default=True,
    ),
    _option(
        "--allow-image",
        "Gate: slurmd images that may be used. registry/path/ (all below), registry/repository, with :tag "
        "or @sha256:…; repeat for more. None given: any.",
        multiple=True,
    ),
    _option(
        "--allow-token-path",
        "Gate: folder or file that slurmTokenFile may name; repeat for more. None given: any.",
        multiple=True,
    ),
    _option(
        "--allow-slurm-host",
        "Gate: host that slurmRestURL may name, as host, host:port or *.domain; repeat for more. "
        "None given: any.",
        multiple=True,
    ),
    _option(
        "--allow-insecure-tls",
        "Gate: permit plain HTTP and certificates that are not checked. For development.",
        is_flag=True,
    ),
)


def settings_options(command: F) -> F:
    """Give `command` all options; it gets them as keywords for `to_settings`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def to_settings(options: dict[str, Any], *, product: Product = SLURM) -> Settings:
    """The settings that the options say. SettingsError names the option that is wrong."""
    transport = Transport.INSECURE if options["allow_insecure_tls"] else Transport.VERIFIED
    try:
        gates = Gates(
            images=options["allow_image"],
            token_paths=options["allow_token_path"],
            slurm_hosts=options["allow_slurm_host"],
            transport=transport,
        )
    except ValueError as error:
        raise SettingsError("--allow-…", str(error)) from error
    return Settings(
        product=product,
        kubeconfig=options["kubeconfig"],
        context=options["context"],
        namespaces=options["namespace"],
        workloadmixing=options["workloadmixing"],
        config=options["config"],
        election=Election(options["election"]),
        lease_name=options["lease_name"],
        lease_namespace=options["lease_namespace"],
        http=Bind.parse(options["http"]),
        http_token=options["http_token_file"],
        log_level=options["log_level"],
        log_format=LogFormat(options["log_format"]),
        workers=options["workers"],
        gates=gates,
    )
