"""A real Prometheus on loopback, in a directory of the test's own."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import yaml

from k8s_bridge.sandbox.slurm_real.network import free_port
from support.promtool import program

SCRAPE_SECONDS = 0.5
_PAUSE, _LOOKS = 0.1, 300
"""It is up within half a minute."""


class Prometheus:
    """A running one: what it scrapes, and what it says."""

    def __init__(self, client: httpx.AsyncClient, targets: Path) -> None:
        self._client = client
        self._path = targets
        self._targets: dict[str, str] = {}

    def scrape(self, job: str, address: str) -> None:
        """Scrape host:port as this job from now on."""
        self._targets[job] = address
        self._write()

    def leave(self, job: str) -> None:
        """Scrape it no more."""
        self._targets.pop(job)
        self._write()

    async def until_seen(self, job: str) -> None:
        """Wait until it was scraped."""
        for _ in range(_LOOKS):
            if await self.query(f'up{{job="{job}"}} == 1'):
                return
            await asyncio.sleep(_PAUSE)
        raise AssertionError(f"{job} is not scraped")

    def _write(self) -> None:
        """Whole or not at all: Prometheus reads it at any time."""
        groups = [{"targets": [address], "labels": {"job": job}} for job, address in self._targets.items()]
        draft = self._path.with_suffix(".new")
        draft.write_text(json.dumps(groups))
        draft.replace(self._path)

    async def query(self, expression: str) -> list[dict[str, Any]]:
        """The vector that an expression is now. AssertionError when it does not parse."""
        answer = (await self._client.get("/api/v1/query", params={"query": expression})).json()
        assert answer["status"] == "success", answer
        return list(answer["data"]["result"])

    async def firing(self) -> list[dict[str, Any]]:
        """The alerts that fire now."""
        alerts = (await self._client.get("/api/v1/alerts")).json()["data"]["alerts"]
        return [alert for alert in alerts if alert["state"] == "firing"]


@contextlib.asynccontextmanager
async def prometheus(directory: Path, *, rules: Mapping[str, Any] | None = None) -> AsyncIterator[Prometheus]:
    """Scrapes what it is told to and evaluates `rules`, both twice a second."""
    targets = directory / "targets.json"
    _write(directory, targets, rules or {"groups": []})
    address = f"127.0.0.1:{free_port()}"
    with (directory / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            program("prometheus"),
            f"--config.file={directory / 'prometheus.yaml'}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address={address}",
            stdout=log,
            stderr=log,
        )
    try:
        async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False, timeout=10) as client:
            await _ready(client, directory / "log")
            yield Prometheus(client, targets)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


def _write(directory: Path, targets: Path, rules: Mapping[str, Any]) -> None:
    directory.mkdir()
    targets.write_text("[]")
    found = {"files": [str(targets)], "refresh_interval": "1s"}
    config = {
        "global": {"scrape_interval": f"{SCRAPE_SECONDS * 1000:.0f}ms", "evaluation_interval": "500ms"},
        "scrape_configs": [{"job_name": "k8s-bridge", "file_sd_configs": [found]}],
        "rule_files": ["rules.yaml"],
    }
    (directory / "prometheus.yaml").write_text(yaml.safe_dump(config))
    (directory / "rules.yaml").write_text(yaml.safe_dump(dict(rules)))


async def _ready(client: httpx.AsyncClient, log: Path) -> None:
    for _ in range(_LOOKS):
        if await _answers(client):
            return
        await asyncio.sleep(_PAUSE)
    raise AssertionError(f"Prometheus does not come up: {log} says why")


async def _answers(client: httpx.AsyncClient) -> bool:
    try:
        return (await client.get("/-/ready")).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False
