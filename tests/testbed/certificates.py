"""Certificates of the control plane, and kubeconfigs."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from testbed.places import API, CONTROL, KUBECONFIG, PKI
from testbed.shell import run

CA = PKI / "ca.crt"
TOKENS = PKI / "tokens.csv"
_DAYS = "3650"
_NAMES = f"IP:127.0.0.1,IP:{CONTROL},IP:10.96.0.1,DNS:kubernetes.default.svc"


def make() -> None:
    """Everything that the API server needs, and the administrator's kubeconfig."""
    PKI.mkdir(mode=0o700)
    run("openssl", "req", "-x509", *_key("ca"), "-out", CA, "-subj", "/CN=testbed-ca", "-days", _DAYS)
    _issue("apiserver", extensions=f"subjectAltName={_NAMES}\n")
    _issue("front-proxy-client", extensions="extendedKeyUsage=clientAuth\n")
    run("openssl", "genrsa", "-out", PKI / "sa.key", "2048")
    run("openssl", "rsa", "-in", PKI / "sa.key", "-pubout", "-out", PKI / "sa.pub")
    token = secrets.token_hex(16)
    TOKENS.write_text(f'{token},admin,admin,"system:masters"\n')
    write_kubeconfig(KUBECONFIG, token=token)


def write_kubeconfig(path: Path, *, token: str, namespace: str = "default") -> None:
    """A kubeconfig for whoever has this token."""
    context = {"cluster": "testbed", "user": "testbed", "namespace": namespace}
    cluster = {"server": API, "certificate-authority": str(CA)}
    path.touch(mode=0o600)
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "testbed", "cluster": cluster}],
        "users": [{"name": "testbed", "user": {"token": token}}],
        "contexts": [{"name": "testbed", "context": context}],
        "current-context": "testbed",
    }
    path.write_text(json.dumps(document, indent=1))


def _issue(name: str, *, extensions: str) -> None:
    config, request = PKI / f"{name}.cnf", PKI / f"{name}.csr"
    config.write_text(extensions)
    run("openssl", "req", *_key(name), "-out", request, "-subj", f"/CN={name}")
    signer = ("-CA", CA, "-CAkey", PKI / "ca.key", "-CAcreateserial", "-extfile", config, "-days", _DAYS)
    run("openssl", "x509", "-req", "-in", request, *signer, "-out", PKI / f"{name}.crt")


def _key(name: str) -> tuple[str | Path, ...]:
    return ("-newkey", "rsa:2048", "-nodes", "-keyout", PKI / f"{name}.key")
