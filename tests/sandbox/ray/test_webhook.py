"""The webhook's process: trusted by what it says itself, and renewed before anybody notices."""

from __future__ import annotations

import asyncio
import base64
import io
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from support import ray_webhook
from support.ray_sandbox import NAMESPACE, mixing

from k8s_bridge.core.errors import Conflict, Missing
from k8s_bridge.kube import auth
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.ray.admission.certificates import LIFE, Pair
from k8s_bridge.ray.admission.keeper import Keeper, Place
from k8s_bridge.ray.admission.webhook import Settings, Webhook
from k8s_bridge.runtime.logging import configure
from k8s_bridge.runtime.redact import Redactor
from k8s_bridge.runtime.settings import Bind, LogFormat
from k8s_bridge.sandbox.apiserver import kinds
from k8s_bridge.sandbox.apiserver.kubeconfig import write_kubeconfig
from k8s_bridge.sandbox.apiserver.server import ApiServer
from k8s_bridge.sandbox.slurm_real.network import free_port

PLACE = Place(namespace=NAMESPACE, secret="certificate", service="webhook", configuration=ray_webhook.NAME)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SECTION = {
    "localQueue": "science",
    "managedClusters": [{"name": "shared"}],
    "poolMappings": [{"pool": "default", "workloadPriorityClass": "low"}],
}


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as found:
        found.storage.create(kinds.NAMESPACES, {"metadata": {"name": NAMESPACE}})
        found.storage.create(kinds.SECRETS, {"metadata": {"name": "certificate", "namespace": NAMESPACE}})
        for obj in ray_webhook.configured(NAMESPACE):
            found.storage.create(kinds.BY_KIND[obj["apiVersion"], obj["kind"]], obj)
        found.storage.create(kinds.WORKLOADMIXINGS, mixing(SECTION))
        yield found


@asynccontextmanager
async def webhook(server: ApiServer, tmp_path: Path) -> AsyncIterator[Webhook]:
    """The process, once it is ready."""
    write_kubeconfig(server, tmp_path / "kubeconfig", namespace=NAMESPACE)
    log = configure(level="info", form=LogFormat.JSON, stream=io.StringIO(), redactor=Redactor())
    settings = Settings(namespaces=(), listen=Bind(port=0), place=PLACE)
    process = Webhook(settings, server=auth.load(str(tmp_path / "kubeconfig")), log=log)
    stop = asyncio.Event()
    running = asyncio.create_task(process.run(stop))
    try:
        async with asyncio.timeout(20):
            while process._unready():  # noqa: ASYNC110 - as probes do
                await asyncio.sleep(0.05)
        yield process
    finally:
        stop.set()
        await running


def trusted(server: ApiServer) -> set[str]:
    """What the API server trusts."""
    return {
        base64.b64decode(one["clientConfig"]["caBundle"]).decode()
        for kind in (kinds.MUTATING_WEBHOOKS, kinds.VALIDATING_WEBHOOKS)
        for one in server.storage.get(kind, "", ray_webhook.NAME)["webhooks"]
    }


async def ask(process: Webhook, path: str, *, trust: str, **spec: Any) -> dict[str, Any]:
    """As the API server asks: it knows the host's name, and trusts nothing but caBundle."""
    job = {"metadata": {"name": "job"}, "spec": {"clusterSelector": {"ray.io/cluster": "shared"}} | spec}
    request = {
        "uid": "7",
        "operation": "CREATE",
        "namespace": NAMESPACE,
        "resource": {"group": "ray.io", "version": "v1", "resource": "rayjobs"},
        "object": job,
        "oldObject": None,
        "userInfo": {"username": "ann"},
    }
    async with httpx.AsyncClient(verify=ssl.create_default_context(cadata=trust)) as client:
        answer = await client.post(
            f"https://127.0.0.1:{process.address.port}{path}",
            json={"request": request},
            extensions={"sni_hostname": PLACE.host},
        )
    return answer.raise_for_status().json()["response"]


async def test_it_is_trusted_by_what_it_tells_the_api_server_and_answers(server, tmp_path):
    async with webhook(server, tmp_path) as process:
        (trust,) = trusted(server)

        good = await ask(process, "/judge", trust=trust)
        bad = await ask(process, "/judge", trust=trust, backoffLimit=1)
        changed = await ask(process, "/change", trust=trust)

    assert (good["uid"], good["allowed"]) == ("7", True)
    assert bad["allowed"] is False
    assert "backoffLimit" in bad["status"]["message"]
    assert b"accepted" in base64.b64decode(changed["patch"])
    service = server.storage.get(kinds.MUTATING_WEBHOOKS, "", ray_webhook.NAME)["webhooks"][0]["clientConfig"]
    assert service["service"]["path"] == "/change"


async def test_two_instances_share_one_certificate(server, tmp_path):
    async with webhook(server, tmp_path) as first, webhook(server, tmp_path) as second:
        (trust,) = trusted(server)
        assert (await ask(first, "/judge", trust=trust))["allowed"]
        assert (await ask(second, "/judge", trust=trust))["allowed"]
    assert trust.count("BEGIN CERTIFICATE") == 1


async def test_the_command_answers_until_it_is_told_to_end(server, tmp_path):
    write_kubeconfig(server, tmp_path / "kubeconfig", namespace=NAMESPACE)
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "k8s_bridge.cli.main", "webhook", f"--kubeconfig={tmp_path / 'kubeconfig'}",
        f"--listen=127.0.0.1:{port}", f"--secret={PLACE.secret}", f"--service={PLACE.service}",
        f"--configuration={PLACE.configuration}",
        stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with httpx.AsyncClient(verify=False, base_url=f"https://127.0.0.1:{port}") as client:
            async with asyncio.timeout(30):
                while not await answers(client):  # noqa: ASYNC110 - as probes do
                    await asyncio.sleep(0.1)
    finally:
        process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0


async def answers(client: httpx.AsyncClient) -> bool:
    try:
        return (await client.get("/readyz")).is_success
    except httpx.TransportError:
        return False


class Instance:
    """A keeper with a clock of its own."""

    def __init__(self, client: KubeClient) -> None:
        self.now = BEGIN
        self.shown: list[Pair] = []
        self.keeper = Keeper(
            client, PLACE, present=self.shown.append, failed=lambda error: None, now=lambda: self.now
        )

    async def settle(self) -> None:
        """Until a look finds all in order."""
        while await self.keeper.look() < 10:
            pass


@pytest.fixture
async def client(server: ApiServer, tmp_path: Path) -> AsyncIterator[KubeClient]:
    write_kubeconfig(server, tmp_path / "kubeconfig", namespace=NAMESPACE)
    async with KubeClient(auth.load(str(tmp_path / "kubeconfig"))) as found:
        yield found


async def test_a_new_certificate_is_trusted_before_it_is_shown_and_the_old_one_while_it_holds(server, client):
    one = Instance(client)
    await one.settle()
    one.now = BEGIN + LIFE * 0.7

    await one.keeper.look()
    await one.keeper.look()
    (both,) = trusted(server)
    assert len(one.shown) == 1
    await one.settle()

    assert [pair.certificate in both for pair in one.shown] == [True, True]
    one.now += LIFE * 0.7
    await one.settle()
    (later,) = trusted(server)
    assert one.shown[0].certificate not in later


async def test_another_instance_shows_what_the_first_has_made(server, client):
    first, second = Instance(client), Instance(client)
    await first.settle()
    await second.settle()
    assert first.shown == second.shown


async def test_of_two_that_renew_at_once_one_is_told_to_look_again(server, client, monkeypatch):
    first, second = Instance(client), Instance(client)
    results = await asyncio.gather(first.keeper.look(), second.keeper.look(), return_exceptions=True)
    assert sorted(type(result) for result in results if result != 0.0) in ([], [Conflict])
    await first.settle()
    await second.settle()
    assert first.shown[-1] == second.shown[-1]


@pytest.mark.parametrize(
    "data",
    [{}, {"tls.crt": "bm9uZQ==", "tls.key": "bm9uZQ=="}, {"tls.crt": "?"}],
    ids=["empty", "no certificate", "no base64"],
)
async def test_what_cannot_be_used_is_made_anew(server, client, data):
    server.storage.patch(kinds.SECRETS, NAMESPACE, "certificate", {"data": data})
    one = Instance(client)
    await one.settle()
    assert one.shown[0].certificate in next(iter(trusted(server)))


async def test_without_its_configuration_it_is_not_trusted(server, client):
    server.storage.delete(kinds.MUTATING_WEBHOOKS, "", ray_webhook.NAME)
    one = Instance(client)
    await one.keeper.look()
    with pytest.raises(Missing):
        await one.keeper.look()
    assert not one.keeper.trusted
