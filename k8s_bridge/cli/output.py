"""Machine output, and the errors and exit codes that every command shares."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import NoReturn

import click
import msgspec
import yaml


class Exit(IntEnum):
    """Exit codes, as `--help` lists them."""

    FAILED = 1
    USAGE = 2
    NO_BRIDGE = 3
    UNKNOWN_UNIT = 4
    UNWELL = 5


EXIT_HELP = """\b
Exit codes:
  0  done
  1  failed while running
  2  wrong options, settings or document: the text names the field and the next step
  3  no bridge answers at the address
  4  no such job
  5  doctor: something is wrong
"""


class Form(StrEnum):
    """Output for machines."""

    JSON = "json"
    YAML = "yaml"


output_option = click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice([form.value for form in Form]),
    default=None,
    help="Print for machines instead of people.",
)


def emit(value: object, form: str) -> None:
    """Print `value` as JSON or YAML."""
    plain = msgspec.to_builtins(value)
    if form == Form.JSON:
        click.echo(msgspec.json.format(msgspec.json.encode(plain), indent=2).decode())
    else:
        click.echo(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True), nl=False)


class _Failed(click.ClickException):
    exit_code = Exit.FAILED


class _Usage(click.ClickException):
    exit_code = Exit.USAGE


class _NoBridge(click.ClickException):
    exit_code = Exit.NO_BRIDGE


class _UnknownUnit(click.ClickException):
    exit_code = Exit.UNKNOWN_UNIT


_FAILURES = {kind.exit_code: kind for kind in (_Failed, _Usage, _NoBridge, _UnknownUnit)}


def fail(text: str, *, code: Exit) -> NoReturn:
    """End the command: `text` says what is wrong and what to do next."""
    raise _FAILURES[code](text)
