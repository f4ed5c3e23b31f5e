"""How far a server's certificate is believed, and ours shown to it."""

from __future__ import annotations

import ssl

from k8s_bridge.core.errors import Terminal
from k8s_bridge.slurm.client.config import SlurmEndpoint, Tls


def verification(endpoint: SlurmEndpoint) -> ssl.SSLContext | bool:
    """The TLS settings of an endpoint. Terminal(TlsFilesInvalid) when its files cannot be used."""
    if not endpoint.base_url.startswith("https:"):
        return False  # nothing to verify, and redirects to https are not followed
    try:
        context = ssl.create_default_context(cafile=endpoint.ca_file or None)
        if endpoint.tls is Tls.INSECURE:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if endpoint.client_cert_file:
            context.load_cert_chain(endpoint.client_cert_file, endpoint.client_key_file or None)
    except (OSError, ssl.SSLError) as error:
        raise Terminal(f"TLS files of {endpoint.base_url}: {error}", reason="TlsFilesInvalid") from error
    return context
