"""The entry point: `k8s-bridge` and its commands."""

from __future__ import annotations

import click

from k8s_bridge.cli.completion import complete_for_kubectl, completion
from k8s_bridge.cli.crd import crd
from k8s_bridge.cli.demo import demo
from k8s_bridge.cli.doctor import doctor
from k8s_bridge.cli.explain import explain
from k8s_bridge.cli.hook import hook
from k8s_bridge.cli.output import EXIT_HELP
from k8s_bridge.cli.render import render
from k8s_bridge.cli.run import make_run
from k8s_bridge.cli.slurm_plugin import slurm_plugin
from k8s_bridge.cli.top import top
from k8s_bridge.cli.webhook import webhook
from k8s_bridge.runtime.product import RAY, SLURM
from k8s_bridge.runtime.services import BridgeFactory


@click.group(epilog=EXIT_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="k8s-bridge")
def main() -> None:
    """Kueue as the single admission authority for Slurm jobs and everything else in the cluster."""


def slurm_bridge() -> BridgeFactory:
    """The factory of Slurm bridges; imported when it is needed, so that `top` starts at once."""
    from k8s_bridge.slurm.bridge import create  # noqa: PLC0415 - imported late on purpose

    return create


def ray_bridge() -> BridgeFactory:
    """The factory of Ray bridges, imported late as well."""
    from k8s_bridge.ray.bridge import create  # noqa: PLC0415 - imported late on purpose

    return create


main.add_command(make_run({SLURM: slurm_bridge, RAY: ray_bridge}))
main.add_command(webhook)
main.add_command(demo)
main.add_command(top)
main.add_command(explain)
main.add_command(doctor)
main.add_command(render)
main.add_command(crd)
main.add_command(hook)
main.add_command(slurm_plugin)
main.add_command(completion)


def kubectl() -> None:
    """The entry point of `kubectl bridge`: the same program by another name."""
    main(prog_name="kubectl bridge")


def kubectl_complete() -> None:
    """The entry point that kubectl completes `kubectl bridge` by."""
    complete_for_kubectl(main)


if __name__ == "__main__":
    main()
