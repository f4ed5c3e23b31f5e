"""Where the API server is and how to speak to it: `load` finds out, in the order of controller-runtime.

An explicit kubeconfig, else $KUBECONFIG, else the pod's service account, else ~/.kube/config.
kr8s is not used here: it offers this only in a private module, leaves client keys behind in temporary
files, and knows neither `tokenFile` nor the expiry of exec credentials.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from pathlib import Path

from k8s_bridge.core.errors import Terminal
from k8s_bridge.kube import kubeconfig as files
from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.kube.credentials import TokenFile

__all__ = ["ApiServer", "in_cluster", "load"]

_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def load(
    kubeconfig: str = "",
    *,
    context: str = "",
    environ: Mapping[str, str] = os.environ,
    service_account: Path = _SERVICE_ACCOUNT,
) -> ApiServer:
    """The API server of this process. Terminal("Kubeconfig") when there is none or its description is wrong.

    `kubeconfig` is a path, or several joined by ":" as $KUBECONFIG has them; `context` "" is the current one.
    """
    paths = kubeconfig or environ.get("KUBECONFIG", "")
    if not paths and environ.get("KUBERNETES_SERVICE_HOST") and (service_account / "token").exists():
        return in_cluster(environ, service_account=service_account)
    if not paths:
        paths = str(Path(environ.get("HOME", "~")).expanduser() / ".kube" / "config")
    return files.read(paths, context=context, environ=environ)


def in_cluster(environ: Mapping[str, str], *, service_account: Path = _SERVICE_ACCOUNT) -> ApiServer:
    """The API server as a pod sees it."""
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    try:
        tls = ssl.create_default_context(cafile=service_account / "ca.crt")
        namespace = (service_account / "namespace").read_text().strip()
    except (OSError, ssl.SSLError) as error:
        raise Terminal(f"service account {service_account}: {error}", reason="Kubeconfig") from error
    return ApiServer(
        base_url=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        tls=tls,
        credentials=TokenFile(service_account / "token"),
        namespace=namespace or "default",
    )
