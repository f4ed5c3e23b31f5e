from __future__ import annotations

import shutil
import ssl
import subprocess

import httpx
import pytest

from k8s_bridge.sandbox.apiserver.kubeconfig import kubeconfig, write_kubeconfig
from k8s_bridge.sandbox.apiserver.server import ApiServer, Tls


@pytest.fixture
def tls(tmp_path):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    pair = Tls(certificate=tmp_path / "cert.pem", key=tmp_path / "key.pem")
    new = [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "1",
    ]
    name = ["-subj", "/CN=sandbox", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(pair.key), "-out", str(pair.certificate)]
    subprocess.run([openssl, *new, *name, *files], check=True, capture_output=True)
    return pair


async def test_over_tls_and_with_a_token_as_the_kubeconfig_says(storage, tls, tmp_path):
    async with ApiServer(storage, tls=tls, tokens=frozenset({"secret"})) as server:
        document = kubeconfig(server)
        cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
        trust = ssl.create_default_context(cafile=cluster["certificate-authority"])
        async with httpx.AsyncClient(base_url=cluster["server"], verify=trust) as client:
            answer = await client.get("/api/v1/pods", headers={"authorization": f"Bearer {user['token']}"})
        assert answer.status_code == 200
        write_kubeconfig(server, tmp_path / "config")
        assert (tmp_path / "config").stat().st_mode & 0o077 == 0
