"""`top` and `explain` send the bridge's token where they know its file, as in the bridge's own pod."""

from __future__ import annotations

import asyncio
import threading

import pytest
from click.testing import CliRunner

from k8s_bridge.cli.main import main
from k8s_bridge.cli.output import Exit
from k8s_bridge.cli.remote import TOKEN_FILE
from k8s_bridge.runtime.access import Access
from k8s_bridge.runtime.health import Health
from k8s_bridge.runtime.http import Endpoints, HttpServer, application
from k8s_bridge.runtime.metrics import Metrics
from k8s_bridge.runtime.settings import Bind
from k8s_bridge.runtime.units import Units


@pytest.fixture
def token(tmp_path):
    path = tmp_path / "token"
    path.write_text("0123456789\n")
    return path


@pytest.fixture
def guarded(token):
    """The address of a bridge that asks for the token."""
    at = Endpoints(
        health=Health(),
        metrics=Metrics(lambda: True),
        units=Units(),
        nudge=lambda _: None,
        access=Access(token_file=token),
    )
    server = HttpServer(application(at), Bind(port=0))
    thread = threading.Thread(target=lambda: asyncio.run(server.run()))
    thread.start()
    yield f"http://127.0.0.1:{server.address.port}"
    server.stop()
    thread.join()


def top(address):
    return CliRunner().invoke(main, ["top", "--address", address, "--once"])


def test_without_the_token_it_says_where_to_name_it(guarded, monkeypatch):
    monkeypatch.delenv(TOKEN_FILE, raising=False)
    result = top(guarded)
    assert result.exit_code == Exit.NO_BRIDGE
    assert f"name its file in {TOKEN_FILE}" in result.output


def test_with_it_units_are_told(guarded, token, monkeypatch):
    monkeypatch.setenv(TOKEN_FILE, str(token))
    assert top(guarded).exit_code == 0


def test_a_file_that_is_not_there_is_named(guarded, tmp_path, monkeypatch):
    monkeypatch.setenv(TOKEN_FILE, str(tmp_path / "none"))
    result = top(guarded)
    assert result.exit_code == Exit.USAGE
    assert str(tmp_path / "none") in result.output
