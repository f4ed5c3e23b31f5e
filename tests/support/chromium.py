"""Headless Chromium: what a page becomes in a real browser. Nothing but loopback is reached."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from k8s_bridge.runtime.http import Endpoints, HttpServer, application
from k8s_bridge.runtime.settings import Bind

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
MISSING = "NO CHROMIUM HERE: apt-get install chromium (make test-packages)"
_CONSOLE = re.compile(r"CONSOLE[^\]]*\] (.*)")
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--enable-logging=stderr",
)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The document as the browser has it, and what it complained of on its console."""

    dom: str
    console: tuple[str, ...]


def chromium() -> str | None:
    """Its path; None where there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextlib.asynccontextmanager
async def served(endpoints: Endpoints) -> AsyncIterator[str]:
    """A bridge's HTTP server, as host:port."""
    server = HttpServer(application(endpoints), Bind(port=0))
    task = asyncio.create_task(server.run())
    yield f"{server.address.host}:{server.address.port}"
    server.stop()
    await task


async def look(url: str) -> Seen:
    """Open a page."""
    dom, console = await _run("--dump-dom", url)
    return Seen(dom=dom, console=tuple(_CONSOLE.findall(console)))


async def screenshot(url: str, path: Path, *, width: int = 1280, height: int = 900) -> None:
    """Open a page and keep what it looks like, as PNG."""
    await _run(f"--screenshot={path}", f"--window-size={width},{height}", url)


async def _run(*arguments: str) -> tuple[str, str]:
    program = chromium()
    assert program is not None, MISSING
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            program,
            *_FLAGS,
            f"--user-data-dir={profile}",
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-2000:]
    return out.decode(), err.decode()
