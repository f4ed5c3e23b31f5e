"""Where a slurmrestd is and how to speak to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Tls(StrEnum):
    """How far the server's certificate is believed."""

    VERIFY = "verify"
    INSECURE = "insecure"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmEndpoint:
    """One slurmrestd. Times are seconds, sizes bytes; files are PEM paths, "" when not used."""

    base_url: str
    """Such as https://slurm.example:6820; a path prefix is kept."""
    tls: Tls = Tls.VERIFY
    ca_file: str = ""
    client_cert_file: str = ""
    client_key_file: str = ""
    user: str = ""
    """Sent as X-SLURM-USER-NAME (22.05 insists on one); "" means the user that the token is for."""
    api_version: str = ""
    """Such as v0.0.42; "" negotiates the newest that both sides speak."""
    timeout: float = 30.0
    requests_per_second: float = 0.0
    """0 is no limit."""
    max_object: int = 8 * 2**20
    max_body: int = 2 * 2**30
    """A full listing is streamed, so this bounds time on a runaway answer, not memory."""
    scontrol: str = "scontrol"
    """The command for what v0.0.38 cannot do by REST; a path or a name on PATH."""
