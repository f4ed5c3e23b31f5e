"""Tokens and certificates of one WorkloadMixing: from files, Secrets and ConfigMaps.

A token never leaves for another host than the spec's own URL: it is given to the one client of that URL.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import msgspec

from api.v1alpha1.slurm import CertificateRef, CertificateSource
from api.v1alpha1.workloadmixing import WorkloadMixing
from api.views import Object
from k8s_bridge.core.errors import BridgeError, Missing, Terminal
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime import files
from k8s_bridge.runtime.redact import Redactor
from k8s_bridge.runtime.waiting import wait
from k8s_bridge.slurm.client.config import SlurmEndpoint, Tls
from k8s_bridge.slurm.client.token import TokenSource

REFRESH, RETRY = 60.0, 5.0
"""Seconds between two looks at a Secret that is there, or is not."""


class Secret(Object, frozen=True):
    """v1 Secret: base64 values."""

    GVR = ("", "v1", "secrets")
    KIND = "Secret"

    data: dict[str, str] = msgspec.field(default_factory=dict)


class ConfigMap(Object, frozen=True):
    """v1 ConfigMap."""

    GVR = ("", "v1", "configmaps")
    KIND = "ConfigMap"

    data: dict[str, str] = msgspec.field(default_factory=dict)


class Credentials:
    """What is needed to speak to slurmrestd. `endpoint` first, then `run` beside whoever uses it."""

    NO_TOKEN: ClassVar[str] = "TokenMissing"  # noqa: S105  # a reason

    def __init__(self, mixing: WorkloadMixing, *, kube: KubeClient, redactor: Redactor) -> None:
        self._spec = mixing.spec
        self._namespace = mixing.metadata.namespace
        self._kube = kube
        self._redactor = redactor
        self._secret = self._last = ""
        self._certificates: tuple[str, ...] = ()
        self._stopping = False
        self._wake = asyncio.Event()
        self._folder = tempfile.TemporaryDirectory(prefix="k8s-bridge-tls-")

    async def run(self, failed: Callable[[BridgeError], None]) -> None:
        """Keep the token of a Secret fresh; what goes wrong is told to `failed`.

        Returns after `stop`, or when certificates were renewed: a connection with the old ones must end.
        """
        while not self._stopping:
            try:
                await self.refresh()
                if await self._read_certificates() != self._certificates:
                    return
            except BridgeError as error:
                failed(error)
            await wait(self._wake, seconds=REFRESH if self._secret else RETRY)

    def stop(self) -> None:
        """Make `run` return."""
        self._stopping = True
        self._wake.set()

    def close(self) -> None:
        """Delete the certificate files."""
        self._folder.cleanup()

    def token(self) -> TokenSource:
        """The source of the token; it says Terminal(TokenMissing) while there is none."""
        if self._spec.slurm_token_file:
            source = TokenSource.file(Path(self._spec.slurm_token_file))
            return TokenSource(lambda: self._known(source.token()), name=self._spec.slurm_token_file)
        return TokenSource(lambda: self._secret, name=self._token_name())

    async def refresh(self) -> None:
        """Read the referenced objects. Terminal(TokenMissing), naming the object, when one is not there."""
        ref = self._spec.slurm_token_secret_ref
        if ref is not None:
            secret = await self._secret_data(ref.name)
            self._secret = self._known(_text(secret, ref.key, of=f"Secret {self._namespace}/{ref.name}"))

    async def endpoint(self) -> SlurmEndpoint:
        """The endpoint, its certificate files in place."""
        spec = self._spec
        ca, cert, key = self._certificates = await self._read_certificates()
        return SlurmEndpoint(
            base_url=spec.slurm_rest_url.rstrip("/"),
            tls=Tls.INSECURE if spec.slurm_insecure_skip_tls_verify else Tls.VERIFY,
            ca_file=self._file("ca.crt", ca),
            client_cert_file=self._file("tls.crt", cert),
            client_key_file=self._file("tls.key", key),
            user=spec.slurm_user,
            api_version="" if spec.slurm_api_version == "auto" else spec.slurm_api_version,
            timeout=spec.slurm_request_timeout.total_seconds(),
            requests_per_second=spec.slurm_requests_per_second,
        )

    def _known(self, token: str) -> str:
        if token != self._last:
            self._last = token
            self._redactor.register(token)
        return token

    def _token_name(self) -> str:
        ref = self._spec.slurm_token_secret_ref
        return f"Secret {self._namespace}/{ref.name}" if ref else "(no slurmTokenFile or slurmTokenSecretRef)"

    async def _read_certificates(self) -> tuple[str, str, str]:
        """The CA bundle, our certificate and its key as text; "" for what the spec does not give."""
        spec = self._spec
        ca = await self._ca(spec.slurm_ca_ref) if spec.slurm_ca_ref else _read(spec.slurm_ca_cert_file)
        return ca, *await self._client_certificate()

    async def _ca(self, ref: CertificateRef) -> str:
        of = f"{ref.kind.value} {self._namespace}/{ref.name}"
        if ref.kind is CertificateSource.SECRET:
            return _text(await self._secret_data(ref.name), ref.key, of=of)
        try:
            found = await self._kube.get(ConfigMap, name=ref.name, namespace=self._namespace)
        except Missing as error:
            raise Terminal(
                f"{of} does not exist; create it or correct slurmCARef", reason="CAMissing"
            ) from error
        if ref.key not in found.data:
            raise Terminal(f"{of} has no key {ref.key}", reason="CAMissing")
        return found.data[ref.key]

    async def _client_certificate(self) -> tuple[str, str]:
        ref = self._spec.slurm_client_cert_ref
        if ref is None:
            return "", ""
        data, of = await self._secret_data(ref.name), f"Secret {self._namespace}/{ref.name}"
        return _text(data, "tls.crt", of=of), _text(data, "tls.key", of=of)

    async def _secret_data(self, name: str) -> dict[str, str]:
        try:
            return (await self._kube.get(Secret, name=name, namespace=self._namespace)).data
        except Missing as error:
            text = (
                f"Secret {self._namespace}/{name} does not exist; create it or correct its name in the spec"
            )
            raise Terminal(text, reason=self.NO_TOKEN) from error

    def _file(self, name: str, text: str) -> str:
        if not text:
            return ""
        path = Path(self._folder.name) / name
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")
        return str(path)


def _read(path: str) -> str:
    try:
        return files.read(Path(path)).decode() if path else ""
    except (OSError, UnicodeDecodeError) as error:
        raise Terminal(f"slurmCACertFile {path}: {error}", reason="CAMissing") from error


def _text(data: dict[str, str], key: str, *, of: str) -> str:
    if key not in data:
        raise Terminal(f"{of} has no key {key}", reason=Credentials.NO_TOKEN)
    try:
        return base64.b64decode(data[key], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise Terminal(f"{of}: key {key} is not text", reason=Credentials.NO_TOKEN) from error
