"""Who we are to the API server: the Authorization header, kept fresh.

A token file is read again when it changes (projected service account tokens rotate hourly); an exec plugin
is run again before its token expires or after a 401.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import msgspec

from k8s_bridge.core.errors import Retry, Terminal

_EXPIRY_MARGIN = timedelta(seconds=30)
_EXEC_SECONDS = 30.0


class Credentials(Protocol):
    """Gives the headers of each call."""

    async def headers(self) -> Mapping[str, str]:
        """The headers to send now. Retry when they cannot be had at the moment."""
        ...

    def rejected(self) -> None:
        """The server answered 401: do not offer the same again unchecked."""
        ...


@dataclass(frozen=True, slots=True)
class StaticToken:
    """A token that never changes; "" sends none (client certificates, or an open server)."""

    token: str = ""

    async def headers(self) -> Mapping[str, str]:
        """The bearer token."""
        return bearer(self.token) if self.token else {}

    def rejected(self) -> None:
        """There is no other token to offer."""


class TokenFile:
    """A token in a file; the last good one stays in use while the file cannot be read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._token = ""

    async def headers(self) -> Mapping[str, str]:
        """The token as the file has it now: one stat a call, one read a change."""
        try:
            self._reread()
        except OSError as error:
            if not self._token:
                raise Retry(f"token file {self._path}: {error.strerror}") from error
        return bearer(self._token)

    def rejected(self) -> None:
        """Read the file again, whatever its time stamp says."""
        self._stamp = None

    def _reread(self) -> None:
        stat = self._path.stat()
        stamp = (stat.st_mtime_ns, stat.st_ino)
        if stamp != self._stamp:
            self._token = self._path.read_text().strip() or self._token
            self._stamp = stamp


class _ExecStatus(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    expiration_timestamp: datetime | None = None
    client_certificate_data: str = ""
    client_key_data: str = ""


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    status: _ExecStatus


class ExecPlugin:
    """A kubeconfig `exec` user: runs the plugin and keeps what it gave until shortly before it expires."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environ: Mapping[str, str],
        api_version: str,
        tls: ssl.SSLContext,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._command = tuple(command)
        info = {"apiVersion": api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
        self._environ = {**environ, "KUBERNETES_EXEC_INFO": json.dumps(info)}
        self._tls = tls
        self._now = now
        self._held: _ExecStatus | None = None
        self._lock = asyncio.Lock()

    async def headers(self) -> Mapping[str, str]:
        """The plugin's token; a client certificate goes into the TLS context for later connections."""
        async with self._lock:
            if self._held is None or self._expired(self._held):
                self._held = await self._run()
            return bearer(self._held.token) if self._held.token else {}

    def rejected(self) -> None:
        """Run the plugin again before the next call."""
        self._held = None

    def _expired(self, status: _ExecStatus) -> bool:
        end = status.expiration_timestamp
        return end is not None and self._now() >= end - _EXPIRY_MARGIN

    async def _run(self) -> _ExecStatus:
        status = _parse(self._command[0], await self._output())
        if status.client_certificate_data:
            load_client_certificate(self._tls, status.client_certificate_data, status.client_key_data)
        return status

    async def _output(self) -> bytes:
        name = self._command[0]
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                env=self._environ,
                stdout=asyncio.subprocess.PIPE,
                stdin=asyncio.subprocess.DEVNULL,
            )
        except OSError as error:
            raise Terminal(f"exec plugin {name}: {error.strerror}", reason="ExecPlugin") from error
        try:
            output, _ = await asyncio.wait_for(process.communicate(), _EXEC_SECONDS)
        except TimeoutError as error:
            raise Retry(f"exec plugin {name} did not end within {_EXEC_SECONDS:.0f} s") from error
        finally:
            if process.returncode is None:
                process.kill()
        if process.returncode:
            raise Retry(f"exec plugin {name} ended with {process.returncode}")
        return output


def bearer(token: str) -> Mapping[str, str]:
    """The Authorization header of a token."""
    return {"Authorization": f"Bearer {token}"}


def load_client_certificate(tls: ssl.SSLContext, certificate: str, key: str) -> None:
    """Load a PEM pair into `tls`. The ssl module reads files only, so the key is on disk for that moment."""
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(f"{certificate}\n{key}\n")
        file.flush()
        tls.load_cert_chain(file.name)


def _parse(name: str, output: bytes) -> _ExecStatus:
    try:
        status = msgspec.json.decode(output, type=_ExecCredential).status
    except msgspec.DecodeError as error:
        raise Terminal(f"exec plugin {name}: {error}", reason="ExecPlugin") from error
    if not status.token and not status.client_certificate_data:
        raise Terminal(f"exec plugin {name} gave no credential", reason="ExecPlugin")
    return status
