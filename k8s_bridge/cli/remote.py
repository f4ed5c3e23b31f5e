"""Asks a running bridge what it knows, through its HTTP server."""

from __future__ import annotations

from typing import TypeVar
from urllib.parse import quote

import click
import httpx
import msgspec

from k8s_bridge.cli.output import Exit, fail
from k8s_bridge.runtime.settings import HTTP_PORT
from k8s_bridge.runtime.units import UnitDetail, UnitRow

T = TypeVar("T")

DEFAULT_ADDRESS = f"http://127.0.0.1:{HTTP_PORT}"
_TIMEOUT = httpx.Timeout(5.0)
_OK, _NOT_FOUND, _FORBIDDEN = 200, 404, 403

address_option = click.option(
    "--address",
    envvar="K8S_BRIDGE_ADDRESS",
    default=DEFAULT_ADDRESS,
    show_default=True,
    show_envvar=True,
    help="HTTP address of a running bridge.",
)


class Remote:
    """The HTTP server of one bridge at `address`, such as http://127.0.0.1:8080."""

    def __init__(self, address: str) -> None:
        self._address = address if "://" in address else f"http://{address}"

    def units(self) -> list[UnitRow]:
        """All units. Ends the command when no bridge answers."""
        return self._decode(self._get("/debug/units"), list[UnitRow])

    def unit(self, name: str) -> list[UnitDetail]:
        """Every unit called `name`; [] when there is none. Ends the command when no bridge answers."""
        answer = self._get(f"/debug/units/{quote(name, safe='')}")
        return [] if answer.status_code == _NOT_FOUND else self._decode(answer, list[UnitDetail])

    def _get(self, path: str) -> httpx.Response:
        try:
            return httpx.get(self._address + path, timeout=_TIMEOUT, follow_redirects=False, trust_env=False)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            fail(
                f"no bridge answers at {self._address} ({error}).\n"
                "Start one with `k8s-bridge run`, or reach one in a cluster with\n"
                f"`kubectl port-forward deploy/k8s-bridge {HTTP_PORT}:{HTTP_PORT}`; "
                "--address names another address.",
                code=Exit.NO_BRIDGE,
            )

    def _decode(self, answer: httpx.Response, kind: type[T]) -> T:
        if answer.status_code == _FORBIDDEN:
            fail(f"{self._address}: {answer.text}", code=Exit.NO_BRIDGE)
        try:
            if answer.status_code != _OK:
                raise msgspec.DecodeError(f"HTTP {answer.status_code}")
            return msgspec.json.decode(answer.content, type=kind)
        except msgspec.MsgspecError as error:
            fail(
                f"what answers at {self._address} is not a k8s-bridge ({error}); check --address.",
                code=Exit.NO_BRIDGE,
            )
