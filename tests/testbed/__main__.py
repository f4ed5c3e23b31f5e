"""`python -m testbed up | down | run COMMAND…`; `run` runs a command in the control plane's network."""

from __future__ import annotations

import os
import sys

from testbed import lifecycle
from testbed.places import KUBECONFIG
from testbed.shell import Failed, inside


def main(command: str, *rest: str) -> None:
    """Do what the command says."""
    match command:
        case "up":
            lifecycle.up()
        case "down":
            lifecycle.down()
        case "run" if lifecycle.is_up():
            environment = os.environ | {"KUBECONFIG": str(KUBECONFIG)}
            os.execvpe("nsenter", [*inside(), *rest], environment)
        case "run":
            raise Failed("the testbed is not up: make testbed")
        case _:
            raise Failed(__doc__ or "")


try:
    main(*sys.argv[1:])
except Failed as error:
    sys.exit(str(error))
