from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from k8s_bridge.core.effects import Event
from k8s_bridge.core.errors import BridgeError
from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.kube.credentials import StaticToken
from k8s_bridge.kube.http import Limits
from k8s_bridge.kube.observe import Observer
from k8s_bridge.kube.transport import KubeClient
from tests.contract.http_server import HttpServer


class Recorder(Observer):
    """Keeps what was reported."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, int]] = []
        self.malformed: list[str] = []
        self.errors: list[BridgeError] = []
        self.dropped: list[Event] = []
        self.lists: list[int] = []

    def on_call(self, *, method: str, kind: str, code: int, seconds: float, size: int) -> None:
        assert seconds >= 0
        assert size >= 0
        self.calls.append((method, kind, code))

    def on_malformed(self, *, kind: str, key: str, error: str) -> None:
        assert kind
        assert error
        self.malformed.append(key)

    def on_reflector_error(self, *, kind: str, error: BridgeError) -> None:
        assert kind
        self.errors.append(error)

    def on_lease_error(self, *, error: BridgeError) -> None:
        self.errors.append(error)

    def on_list(self, *, kind: str, items: int, seconds: float) -> None:
        assert kind
        assert seconds >= 0
        self.lists.append(items)

    def on_event_dropped(self, *, event: Event) -> None:
        self.dropped.append(event)


LIMITS = Limits(connect=2, read=0.5, write=2, pool=2, total=2, farewell=0.3, body=100_000, line=50_000)


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with HttpServer() as scripted:
        yield scripted


@pytest.fixture
def seen() -> Recorder:
    return Recorder()


@pytest.fixture
async def client(server: HttpServer, seen: Recorder) -> AsyncIterator[KubeClient]:
    address = ApiServer(base_url=server.url, credentials=StaticToken("secret"))
    async with KubeClient(address, limits=LIMITS, observer=seen) as kube:
        yield kube
