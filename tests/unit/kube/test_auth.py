from __future__ import annotations

import base64
import json
import ssl
import stat
import subprocess
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from k8s_bridge.core.errors import Retry, Terminal
from k8s_bridge.kube.auth import load
from k8s_bridge.kube.credentials import ExecPlugin, TokenFile


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("pki")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    subject = ["-subj", "/CN=bridge", "-addext", "basicConstraints=critical,CA:TRUE"]
    subprocess.run(
        ["openssl", "req", "-x509", *kind, *subject, "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    return certificate, key


def write(path: Path, *, cluster=None, user=None, namespace="", name="main") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    context = {"cluster": name, "user": name, **({"namespace": namespace} if namespace else {})}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": "https://api:6443/", **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": context}],
    }
    path.write_text(yaml.safe_dump(document))
    return path


def data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


async def test_a_token_and_the_namespace_of_the_context(tmp_path):
    server = load(str(write(tmp_path / "config", user={"token": "t"}, namespace="team")), environ={})
    assert (server.base_url, server.namespace) == ("https://api:6443", "team")
    assert await server.credentials.headers() == {"Authorization": "Bearer t"}
    assert server.tls.verify_mode is ssl.CERT_REQUIRED
    assert server.tls.check_hostname


async def test_a_token_file_goes_before_a_token_and_is_relative_to_the_file(tmp_path):
    (tmp_path / "tok").write_text("from-file\n")
    path = write(tmp_path / "config", user={"token": "t", "tokenFile": "tok"})
    assert await load(str(path), environ={}).credentials.headers() == {"Authorization": "Bearer from-file"}


@pytest.mark.parametrize("inline", [True, False])
def test_authorities_and_client_certificates_as_data_and_as_relative_files(tmp_path, pair, inline):
    certificate, key = pair
    if inline:
        cluster = {"certificate-authority-data": data(certificate)}
        user = {"client-certificate-data": data(certificate), "client-key-data": data(key)}
    else:
        for path in pair:
            (tmp_path / path.name).write_bytes(path.read_bytes())
        cluster = {"certificate-authority": "cert.pem"}
        user = {"client-certificate": "cert.pem", "client-key": "key.pem"}
    before = set(Path(tempfile.gettempdir()).glob("*.pem"))
    server = load(str(write(tmp_path / "config", cluster=cluster, user=user)), environ={})
    assert [dict(x[0] for x in ca["subject"]) for ca in server.tls.get_ca_certs()] == [
        {"commonName": "bridge"}
    ]
    assert set(Path(tempfile.gettempdir()).glob("*.pem")) <= before


def test_a_key_that_does_not_fit_is_told_at_once(tmp_path, pair):
    certificate, _ = pair
    user = {"client-certificate-data": data(certificate), "client-key-data": data(certificate)}
    with pytest.raises(Terminal) as caught:
        load(str(write(tmp_path / "config", user=user)), environ={})
    assert caught.value.reason == "Kubeconfig"


def test_verification_is_off_only_where_it_says_so(tmp_path):
    cluster = {"insecure-skip-tls-verify": True, "tls-server-name": "kube", "proxy-url": "http://proxy:3128"}
    server = load(str(write(tmp_path / "config", cluster=cluster)), environ={})
    assert server.tls.verify_mode is ssl.CERT_NONE
    assert (server.server_name, server.proxy) == ("kube", "http://proxy:3128")


def test_several_files_are_merged_and_the_first_wins(tmp_path):
    one = write(tmp_path / "one" / "config", name="one")
    two = write(tmp_path / "two" / "config", name="two", namespace="second")
    both = f"{one}:{tmp_path / 'absent'}:{two}"
    assert load(both, environ={}).namespace == "default"
    assert load(both, context="two", environ={}).namespace == "second"
    assert load(environ={"KUBECONFIG": f"{two}:{one}"}).namespace == "second"


def test_explicit_then_environment_then_service_account_then_home(tmp_path, pair):
    account = tmp_path / "account"
    account.mkdir()
    (account / "token").write_text("pod-token")
    (account / "namespace").write_text("pod-ns")
    (account / "ca.crt").write_bytes(pair[0].read_bytes())
    home = write(tmp_path / ".kube" / "config", namespace="home").parents[1]
    named = write(tmp_path / "named", namespace="named")
    environ = {"HOME": str(home), "KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    pod = load(environ=environ, service_account=account)
    assert (pod.base_url, pod.namespace) == ("https://[fd00::1]:443", "pod-ns")
    assert load(environ=environ | {"KUBECONFIG": str(named)}, service_account=account).namespace == "named"
    assert load(str(named), environ=environ, service_account=account).namespace == "named"
    assert load(environ={"HOME": str(home)}, service_account=account).namespace == "home"


@pytest.mark.parametrize(
    "text", ["", "clusters: 7", "a: [", "current-context: x", "clusters: [{}]", "users: [{name: a, user: 3}]"]
)
def test_a_wrong_file_is_terminal(tmp_path, text):
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(Terminal) as caught:
        load(str(path), environ={})
    assert caught.value.reason == "Kubeconfig"


def test_no_file_is_terminal(tmp_path):
    with pytest.raises(Terminal):
        load(environ={"HOME": str(tmp_path)})


async def test_a_token_file_that_vanishes_keeps_the_last_token(tmp_path):
    path = tmp_path / "token"
    credentials = TokenFile(path)
    with pytest.raises(Retry):
        await credentials.headers()
    path.write_text("t\n")
    assert await credentials.headers() == {"Authorization": "Bearer t"}
    path.unlink()
    assert await credentials.headers() == {"Authorization": "Bearer t"}


class Plugin:
    """A credential plugin that counts its runs into its token."""

    def __init__(self, folder: Path, answer: str) -> None:
        self.script = folder / "plugin"
        self.script.write_text(f"#!/bin/sh\necho run >> {folder}/runs\n{answer}\n")
        self.script.chmod(self.script.stat().st_mode | stat.S_IXUSR)
        self.log = folder / "runs"

    def runs(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0


def credential(**status) -> str:
    kind = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    return f"echo '{json.dumps({**kind, 'status': status})}'"


def plugin_of(script: Path, now) -> ExecPlugin:
    return ExecPlugin(
        [str(script)],
        environ={"PATH": "/bin:/usr/bin"},
        api_version="client.authentication.k8s.io/v1",
        tls=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        now=now,
    )


async def test_an_exec_plugin_runs_again_before_expiry_and_after_a_refusal(tmp_path):
    now = datetime(2026, 1, 1, tzinfo=UTC)
    plugin = Plugin(tmp_path, credential(token="t", expirationTimestamp="2026-01-01T01:00:00Z"))
    credentials = plugin_of(plugin.script, lambda: now)
    for _ in range(3):
        assert await credentials.headers() == {"Authorization": "Bearer t"}
    assert plugin.runs() == 1
    now += timedelta(minutes=59, seconds=45)
    await credentials.headers()
    assert plugin.runs() == 2
    now -= timedelta(minutes=30)
    credentials.rejected()
    await credentials.headers()
    assert plugin.runs() == 3


@pytest.mark.parametrize(
    ("answer", "error"), [("exit 1", Retry), ("echo nonsense", Terminal), (credential(), Terminal)]
)
async def test_an_exec_plugin_that_fails(tmp_path, answer, error):
    with pytest.raises(error):
        await plugin_of(Plugin(tmp_path, answer).script, lambda: datetime.now(UTC)).headers()


async def test_an_exec_user_of_a_kubeconfig_gets_its_arguments_and_environment(tmp_path):
    got, info = tmp_path / "got", tmp_path / "info"
    note = f'printf "%s %s" "$1" "$COLOUR" > {got}; printf "%s" "$KUBERNETES_EXEC_INFO" > {info}'
    Plugin(tmp_path, f"{note}\n{credential(token='t')}")
    version = "client.authentication.k8s.io/v1"
    env = [{"name": "COLOUR", "value": "blue"}]
    spec = {"apiVersion": version, "command": "./plugin", "args": ["first"], "env": env}
    server = load(str(write(tmp_path / "config", user={"exec": spec})), environ={"PATH": "/bin:/usr/bin"})
    assert await server.credentials.headers() == {"Authorization": "Bearer t"}
    assert got.read_text() == "first blue"
    assert json.loads(info.read_text())["apiVersion"] == version
