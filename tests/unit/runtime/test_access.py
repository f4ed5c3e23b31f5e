from __future__ import annotations

import base64

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from k8s_bridge.runtime.access import Access

TOKEN = "a-token-0123456789"


def answer(access, *, client="127.0.0.1", base="http://127.0.0.1:8080", **headers):
    async def page(request):
        return access.refusal(request) or PlainTextResponse("units")

    async def ask():
        transport = httpx.ASGITransport(app=Starlette(routes=[Route("/", page)]), client=(client, 1234))
        async with httpx.AsyncClient(transport=transport, base_url=base) as browser:
            return await browser.get("/", headers=headers)

    return ask()


@pytest.fixture
def guarded(tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    return Access(token_file=path)


def basic(password, user="anybody"):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("client", "base", "code"),
    [
        ("127.0.0.1", "http://127.0.0.1:8080", 200),
        ("::1", "http://[::1]:8080", 200),
        ("127.0.0.1", "http://localhost:8080", 200),
        ("10.0.0.7", "http://10.0.0.1:8080", 403),
        ("127.0.0.1", "http://evil.example:8080", 403),
        ("odd", "http://127.0.0.1:8080", 403),
    ],
)
async def test_without_a_token_units_are_told_over_loopback_only(client, base, code):
    assert (await answer(Access(), client=client, base=base)).status_code == code


@pytest.mark.parametrize("host", ["", "[", "[::1", "a b", "127.0.0.1@evil.example", "127.0.0.1.evil.example"])
async def test_a_host_that_is_none_is_not_near(host):
    assert (await answer(Access(), Host=host)).status_code == 403


@pytest.mark.parametrize("client", ["127.0.0.1", "10.0.0.7"])
@pytest.mark.parametrize("sent", [f"Bearer {TOKEN}", f"bearer {TOKEN}", basic(TOKEN), basic(TOKEN, user="")])
async def test_with_the_token_they_are_told_to_anybody(guarded, client, sent):
    found = await answer(guarded, client=client, base="http://bridge.example", Authorization=sent)
    assert (found.status_code, found.text) == (200, "units")


@pytest.mark.parametrize(
    "sent", ["", "Bearer", "Bearer wrong", f"Token {TOKEN}", basic("wrong"), "Basic !", f"Basic {TOKEN}"]
)
async def test_without_it_to_nobody_and_a_browser_asks_for_it(guarded, sent):
    found = await answer(guarded, Authorization=sent)
    assert found.status_code == 401
    assert found.headers["www-authenticate"].startswith("Basic realm=")
    assert TOKEN not in found.text


async def test_an_empty_or_missing_file_opens_nothing(tmp_path):
    path = tmp_path / "token"
    for sent in ("Bearer ", "Bearer", basic("")):
        assert (await answer(Access(token_file=path), Authorization=sent)).status_code == 503
    path.write_text("\n")
    for sent in ("Bearer ", "Bearer", basic("")):
        assert (await answer(Access(token_file=path), Authorization=sent)).status_code == 503


async def test_a_token_is_changed_without_a_restart(guarded):
    guarded.token_file.write_text("another")
    assert (await answer(guarded, Authorization=f"Bearer {TOKEN}")).status_code == 401
    assert (await answer(guarded, Authorization="Bearer another")).status_code == 200
