"""Tokens, users, paths, and a slurmctld that is away."""

from __future__ import annotations

import asyncio

import httpx
from conformance.slurmrestd.world import SMALL, V, World


async def test_slurmctld_away(world: World) -> None:
    job_id = await world.submit()
    await world.stop_controller()
    # All at once: real ones answer after nine seconds.
    listing, update, ping = await asyncio.gather(
        world.http.get(f"{V}/jobs/"), world.update(job_id, comment="x"), world.http.get(f"{V}/ping")
    )
    assert (listing.status_code, listing.json()["jobs"]) == (502, [])
    assert listing.json()["errors"][0]["error_number"] == 1800
    assert update == (500, [1000])
    assert (ping.status_code, ping.json()["pings"][0]["pinged"]) == (200, "DOWN")


async def test_tokens(world: World) -> None:
    async with httpx.AsyncClient(base_url=world.slurm.rest_url, timeout=20) as anonymous:
        assert (await anonymous.get(f"{V}/jobs/")).status_code == 401
        for token in ("nonsense", world.slurm.mint("root", lifetime=-60)):
            answer = await anonymous.get(f"{V}/jobs/", headers={"X-SLURM-USER-TOKEN": token})
            assert (answer.status_code, answer.json()["errors"][0]["error_number"]) == (511, 1007)
            ping = await anonymous.get(f"{V}/ping", headers={"X-SLURM-USER-TOKEN": token})
            assert ping.status_code == 200
        stranger = {"X-SLURM-USER-TOKEN": world.slurm.mint("nobody"), "X-SLURM-USER-NAME": "root"}
        assert (await anonymous.get(f"{V}/jobs/", headers=stranger)).status_code == 511


async def test_paths_and_versions_that_are_not_there(world: World) -> None:
    for path in (f"{V}/nosuch", "/slurm/v0.0.99/jobs/"):
        answer = await world.http.get(path)
        assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (404, "text/plain")
    bad = await world.http.post(
        f"{V}/job/submit", content=b'{"a":', headers={"Content-Type": "application/json"}
    )
    assert bad.status_code == 400


async def test_only_an_administrator_changes_nodes(world: World) -> None:
    await world.add_node("w-1", SMALL)
    status, answer = await world.post("node/w-1", {"state": ["DRAIN"], "reason": "x"}, user="nobody")
    assert (status, [error["error_number"] for error in answer["errors"]]) == (500, [2010])
    answer = await world.http.delete(f"{V}/node/w-1", headers=world.identity("nobody"))
    assert (answer.status_code, answer.json()["errors"][0]["error_number"]) == (500, 2010)
    assert "DRAIN" not in (await world.node("w-1"))["state"]


async def test_methods_that_a_path_has_not_are_unknown_paths(world: World) -> None:
    for method, path in (("PUT", "job/1"), ("POST", "jobs/"), ("GET", "job/"), ("PATCH", "jobs/")):
        answer = await world.http.request(method, f"{V}/{path}", json={})
        assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (404, "text/plain")
