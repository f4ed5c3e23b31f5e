"""Certificates of our own, and a door in front of a plain server that opens to their holders only."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._openssl("req", "-x509", *_KEY, "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.crt")

    @property
    def bundle(self) -> Path:
        return self._folder / "ca.crt"

    def issue(self, name: str) -> tuple[Path, Path]:
        """Certificate and key, good for 127.0.0.1 as well."""
        (self._folder / "ext").write_text("subjectAltName=IP:127.0.0.1\n")
        self._openssl("req", *_KEY, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        signer = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "ext")
        self._openssl("x509", "-req", "-in", f"{name}.csr", *signer, "-out", f"{name}.crt")
        return self._folder / f"{name}.crt", self._folder / f"{name}.key"

    def _openssl(self, *argv: str) -> None:
        subprocess.run(["openssl", *argv], cwd=self._folder, check=True, capture_output=True)


def secret(name: str, *, namespace: str, **files: Path) -> dict[str, Any]:
    """A Secret of files: `tls_crt` becomes the key tls.crt."""
    data = {
        key.replace("_", "."): base64.b64encode(path.read_bytes()).decode() for key, path in files.items()
    }
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


class Door:
    """TLS that asks for a certificate of `authority`; who came is in `guests`."""

    def __init__(self, authority: Authority, *, to: str) -> None:
        parts = urlsplit(to)
        self._target = (parts.hostname, parts.port)
        self.guests: set[str] = set()
        self.url = ""
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*authority.issue("server"))
        self.admit(authority)

    def admit(self, authority: Authority) -> None:
        """Certificates of this authority too are let in, from the next connection on."""
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.context.load_verify_locations(authority.bundle)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Door]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.context)
        self.url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        subject = dict(pair[0] for pair in writer.get_extra_info("peercert")["subject"])
        self.guests.add(subject["commonName"])
        inner_reader, inner_writer = await asyncio.open_connection(*self._target)
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await asyncio.gather(_pour(reader, inner_writer), _pour(inner_reader, writer))


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()
