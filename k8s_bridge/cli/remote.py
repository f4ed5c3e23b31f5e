"""Asks running bridges what they know, through their HTTP servers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import httpx
import msgspec

from k8s_bridge.cli.output import Exit, fail
from k8s_bridge.runtime.settings import HTTP_PORT
from k8s_bridge.runtime.turn import Turn
from k8s_bridge.runtime.units import UnitDetail, UnitRow

T = TypeVar("T")

DEFAULT_ADDRESS = f"http://127.0.0.1:{HTTP_PORT}"
_TIMEOUT = 5.0
TOKEN_FILE = "K8S_BRIDGE_HTTP_TOKEN_FILE"  # noqa: S105 - where the token is, as `run` is told it
_OK, _NOT_FOUND, _FORBIDDEN, _UNAUTHORIZED = 200, 404, 403, 401


class Remote:
    """The HTTP server of one bridge at `address`, such as http://127.0.0.1:8080. `seconds`: its patience."""

    def __init__(self, address: str, *, seconds: float = _TIMEOUT) -> None:
        self.address = address if "://" in address else f"http://{address}"
        self._timeout = httpx.Timeout(seconds)

    def units(self) -> list[UnitRow]:
        """All units. Ends the command when no bridge answers, or one that does not lead."""
        rows = self._decode(self._get("/debug/units"), list[UnitRow])
        if not rows:
            self._check_turn()
        return rows

    def unit(self, name: str) -> list[UnitDetail]:
        """Every unit called `name`; [] when there is none. Ends the command as `units` does."""
        answer = self._get(f"/debug/units/{quote(name, safe='')}")
        if answer.status_code != _NOT_FOUND:
            return self._decode(answer, list[UnitDetail])
        self._check_turn()
        return []

    def _check_turn(self) -> None:
        """Only who leads knows units: an empty list of a standby means nothing."""
        turn = self._decode(self._get("/leader"), Turn)
        if turn.leads:
            return
        if not turn.leader:
            fail(
                f"the bridge at {self.address} is a standby, and nobody leads now. Try again in a moment;\n"
                "if it stays so, `k8s-bridge doctor` and the logs of the pods tell why.",
                code=Exit.NO_BRIDGE,
            )
        fail(
            f"the bridge at {self.address} is a standby and knows no jobs; {turn.pod} leads. Ask that one:\n"
            f"`kubectl exec {turn.pod} -- k8s-bridge top`, or `kubectl bridge top --namespace NAMESPACE`.",
            code=Exit.NO_BRIDGE,
        )

    def _get(self, path: str) -> httpx.Response:
        try:
            return httpx.get(
                self.address + path,
                headers=_credentials(),
                timeout=self._timeout,
                follow_redirects=False,
                trust_env=False,
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            fail(
                f"no bridge answers at {self.address} ({error}).\n"
                "Start one with `k8s-bridge run`, or reach the one in a cluster with\n"
                "`kubectl bridge top --namespace NAMESPACE`; --address names another address.",
                code=Exit.NO_BRIDGE,
            )

    def _decode(self, answer: httpx.Response, kind: type[T]) -> T:
        if answer.status_code == _UNAUTHORIZED:
            text = f"{answer.text}: name its file in {TOKEN_FILE}"
            fail(f"{self.address}: {text}", code=Exit.NO_BRIDGE)
        if answer.status_code == _FORBIDDEN:
            fail(f"{self.address}: {answer.text}", code=Exit.NO_BRIDGE)
        try:
            if answer.status_code != _OK:
                raise msgspec.DecodeError(f"HTTP {answer.status_code}")
            return msgspec.json.decode(answer.content, type=kind)
        except msgspec.MsgspecError as error:
            fail(
                f"what answers at {self.address} is not a k8s-bridge ({error}); check --address.",
                code=Exit.NO_BRIDGE,
            )


class Remotes:
    """Several bridges, such as that of Slurm jobs and that of Ray jobs, seen as one."""

    def __init__(self, remotes: Sequence[Remote]) -> None:
        self._remotes = remotes
        self.address = ", ".join(remote.address for remote in remotes)

    def units(self) -> list[UnitRow]:
        """The units of all. Ends the command when one of them does not answer."""
        return [row for remote in self._remotes for row in remote.units()]

    def unit(self, name: str) -> list[UnitDetail]:
        """Every unit called `name` that one of them knows. Ends the command as `units` does."""
        return [detail for remote in self._remotes for detail in remote.unit(name)]


def _credentials() -> dict[str, str]:
    """The token of the bridge's --http-token-file, in a pod that has both; none elsewhere."""
    path = os.environ.get(TOKEN_FILE, "")
    try:
        token = Path(path).read_text(encoding="utf-8").strip() if path else ""
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{TOKEN_FILE}: {path}: {error}", code=Exit.USAGE)
    return {"Authorization": f"Bearer {token}"} if token else {}
