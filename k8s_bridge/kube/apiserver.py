"""An API server and how to speak to it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

from k8s_bridge.kube.credentials import Credentials, StaticToken


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServer:
    """One API server.

    `namespace` is the default of the context, `proxy` the URL of an HTTP proxy, and `server_name` the name
    that TLS verifies where it is not the host of `base_url`.
    """

    base_url: str
    tls: ssl.SSLContext = field(default_factory=lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    credentials: Credentials = field(default_factory=StaticToken)
    namespace: str = "default"
    proxy: str = ""
    server_name: str = ""
