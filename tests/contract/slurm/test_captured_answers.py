"""Every captured answer of a real slurmrestd, through the real client: what comes of it is in a table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.contract.http_server import HttpServer, answer
from tests.contract.slurm.captured import FOLDERS, ROOT, Captured, all_captured, outcome, question
from tests.contract.slurm.conftest import MakeClient

OUTCOMES = dict(
    re.split(r"\s{2,}|\t", line, maxsplit=1)
    for line in (Path(__file__).parent / "outcomes.txt").read_text().splitlines()
)
"""File -> what the client makes of it."""

ALL = all_captured()


def test_no_captured_answer_is_left_untested() -> None:
    files = {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.json") if path.name != "index.json"}
    assert {captured.name for captured in ALL} == files == set(OUTCOMES)
    assert {name.rpartition("/")[0] for name in files} == set(FOLDERS)


@pytest.mark.parametrize("captured", ALL, ids=lambda captured: captured.name)
async def test_outcome(captured: Captured, server: HttpServer, client_of: MakeClient) -> None:
    script(server, captured)
    client = client_of(api_version=captured.version)
    assert await outcome(question(captured), client) == OUTCOMES[captured.name]


def script(server: HttpServer, captured: Captured) -> None:
    folder = captured.name.rpartition("/")[0]
    ping = ROOT / folder / "01-ping.json"
    server.on("GET", f"/slurm/{captured.version}/ping", answer(200, ping.read_bytes()))
    if captured.version == "v0.0.38":
        server.on("GET", "/slurm/v0.0.38/diag", answer(200, (ROOT / folder / "02-diag.json").read_bytes()))
    # Asked of another version, with a slash, or of a task: it is served where we put our question.
    path = re.sub(r"^(job/\d+)_\d+$|^(ping)/$", r"\1\2", captured.below)
    server.on(captured.method, f"/slurm/{captured.version}/{path}", answer(captured.status, captured.body))
