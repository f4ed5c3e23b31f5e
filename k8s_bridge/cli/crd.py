"""`k8s-bridge crd`: the CustomResourceDefinition, made from the models of this very version."""

from __future__ import annotations

import click

from api.crd import crd as definition
from api.crd import crd_yaml
from k8s_bridge.cli.output import EXIT_HELP, Form, emit


@click.command(epilog=EXIT_HELP, short_help="The CustomResourceDefinition.")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice([form.value for form in Form]),
    default=Form.YAML.value,
    show_default=True,
    help="YAML or JSON.",
)
def crd(*, form: str) -> None:
    """Print the WorkloadMixing CRD, for `kubectl apply --server-side -f -`."""
    if form == Form.JSON:
        emit(definition(), form)
    else:
        click.echo(crd_yaml(), nl=False)
