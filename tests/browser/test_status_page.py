"""The status page in a real browser: it is shown, styled, and runs nothing of what people call their jobs."""

from __future__ import annotations

from dataclasses import replace
from html import unescape

import pytest
from support.chromium import MISSING, chromium, look, served
from support.status_sample import HOSTILE, sample

from k8s_bridge.runtime.access import Access
from k8s_bridge.runtime.pages import render

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason=MISSING),
    pytest.mark.timeout(240),  # a browser on a busy machine
]


@pytest.mark.parametrize("path", ["/", "/units/43"])
async def test_what_people_write_is_shown_and_not_run(path):
    async with served(sample()) as address:
        seen = await look(f"http://{address}{path}")
    assert "<title>owned" not in seen.dom
    assert "k8s-bridge</title>" in seen.dom
    assert HOSTILE in unescape(seen.dom)
    assert seen.console == (), "the browser had nothing to complain of: policy, resources, scripts"


async def test_a_style_that_is_not_ours_is_refused_and_told(monkeypatch: pytest.MonkeyPatch):
    """Which is how the test above knows that ours is taken."""
    monkeypatch.setitem(render._ENVIRONMENT.globals, "style", "body { color: red }")
    async with served(sample()) as address:
        seen = await look(f"http://{address}/")
    assert any("Content Security Policy" in complaint for complaint in seen.console)


async def test_a_browser_gets_in_with_the_token_as_password(tmp_path):
    (tmp_path / "token").write_text("0123456789")
    guarded = replace(sample(), access=Access(token_file=tmp_path / "token"))
    async with served(guarded) as address:
        assert "Recent changes" in (await look(f"http://me:0123456789@{address}/")).dom
        assert "Recent changes" not in (await look(f"http://me:wrong@{address}/")).dom
