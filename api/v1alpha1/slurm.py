"""How to reach Slurm and prove who we are: the flat `slurm…` fields of the spec."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from api.v1alpha1.base import FilePath, Model, Name, Raw, Rule, given, text
from api.v1alpha1.duration import Duration

URL_PATTERN = r"^https?://[^/?#\s]+"

SlurmApiVersion = Literal[
    "auto",
    "v0.0.38",
    "v0.0.39",
    "v0.0.40",
    "v0.0.41",
    "v0.0.42",
    "v0.0.43",
    "v0.0.44",
    "v0.0.45",
]


class SecretKeyRef(Model):
    """A key of a Secret in the namespace of the WorkloadMixing."""

    name: Name
    """Name of the Secret."""
    key: Name = "token"
    """Key within the Secret."""


class CertificateSource(StrEnum):
    """Kinds of object that can hold a CA bundle."""

    CONFIG_MAP = "ConfigMap"
    SECRET = "Secret"  # noqa: S105  # a kind


class CertificateRef(Model):
    """A PEM CA bundle in an object in the namespace of the WorkloadMixing."""

    kind: CertificateSource = CertificateSource.CONFIG_MAP
    """ConfigMap or Secret."""
    name: Name
    """Name of the object."""
    key: Name = "ca.crt"
    """Key within the object."""


class ClientCertificateRef(Model):
    """A Secret of type kubernetes.io/tls (`tls.crt`, `tls.key`) in the namespace of the WorkloadMixing."""

    name: Name
    """Name of the Secret."""


def _encrypted(raw: Raw) -> bool:
    return not text(raw, "slurmRestURL").startswith("http://") or raw.get("allowInsecureHTTP") is True


def _one_token(raw: Raw) -> bool:
    return given(raw, "slurmTokenFile", "slurmTokenSecretRef") <= 1


def _one_bundle(raw: Raw) -> bool:
    return given(raw, "slurmCACertFile", "slurmCARef") <= 1


class SlurmConnection(Model):
    """The connection to one slurmrestd."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="!has(self.slurmRestURL) || self.slurmRestURL.startsWith('https://')"
            " || (has(self.allowInsecureHTTP) && self.allowInsecureHTTP)",
            holds=_encrypted,
            field="slurmRestURL",
            why="must use https, or the Slurm token travels in cleartext",
            fix="use an https URL, or set allowInsecureHTTP: true for development",
        ),
        Rule(
            cel="!(has(self.slurmTokenFile) && self.slurmTokenFile != '' && has(self.slurmTokenSecretRef))",
            holds=_one_token,
            field="slurmTokenSecretRef",
            why="is given together with slurmTokenFile",
            fix="keep one of the two",
        ),
        Rule(
            cel="!(has(self.slurmCACertFile) && self.slurmCACertFile != '' && has(self.slurmCARef))",
            holds=_one_bundle,
            field="slurmCARef",
            why="is given together with slurmCACertFile",
            fix="keep one of the two",
        ),
    )

    slurm_rest_url: Annotated[str, Field(max_length=2048, pattern=URL_PATTERN)] = ""
    """Base URL of slurmrestd, such as https://slurm-restapi.slurm:6820. Absent: no Slurm, only `ray`."""
    allow_insecure_http: bool = False
    """Permits an http URL. For development only: the token then travels in cleartext."""
    slurm_ca_cert_file: FilePath = ""
    """PEM CA bundle that slurmrestd's certificate is verified with. Empty: the system's roots."""
    slurm_ca_ref: CertificateRef | None = None
    """The CA bundle in a ConfigMap or Secret, in place of slurmCACertFile."""
    slurm_client_cert_ref: ClientCertificateRef | None = None
    """Client certificate for mutual TLS."""
    slurm_insecure_skip_tls_verify: bool = False
    """Accepts any certificate. For development only, and only where the platform's gates allow it."""
    slurm_user: Annotated[str, Field(max_length=64)] = ""
    """Sent as X-SLURM-USER-NAME; must be a real Slurm user. Empty: the user the token was minted for."""
    slurm_token_file: FilePath = ""
    """File with the JWT for slurmrestd, read again when it changes. Must lie under an allowed path."""
    slurm_token_secret_ref: SecretKeyRef | None = None
    """The JWT in a Secret, in place of slurmTokenFile. It is sent to the host of slurmRestURL only."""
    slurm_api_version: SlurmApiVersion = "auto"
    """Version of Slurm's REST API; auto takes the newest that both sides speak."""
    poll_interval: Annotated[timedelta, Duration(minimum="1s", zero="10s")] = timedelta(seconds=10)
    """How often Slurm is asked when nothing moves; a nudge asks at once. At least 1s."""
    slurm_request_timeout: Annotated[timedelta, Duration(minimum="1s", maximum="10m", zero="30s")] = (
        timedelta(seconds=30)
    )
    """Limit of one request to slurmrestd, its whole answer included. Between 1s and 10m."""
    slurm_requests_per_second: Annotated[float, Field(ge=0, le=10_000)] = 0.0
    """Limit of all requests to slurmrestd per second, with bursts of twice as many. 0: no limit."""
