from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import pytest

from k8s_bridge.core.errors import Missing, Retry, Terminal
from k8s_bridge.slurm.client import Hold, JobUpdate, Listing, SlurmClient, SlurmEndpoint, TokenSource
from tests.contract.garbage import none_left
from tests.contract.http_server import HttpServer, answer, cut, hang, held, stream
from tests.contract.slurm.conftest import TOKEN, MakeClient

PING = {
    "pings": [{"pinged": "UP", "responding": True}],
    "errors": [],
    "meta": {"slurm": {"release": "24.11.5", "cluster": "sc"}},
}
V = "/slurm/v0.0.42"
GONE = answer(404, b"Unable find requested URL.", headers={"Content-Type": "text/plain"})
NUMBER = {"set": True, "infinite": False, "number": 7}


def job(job_id: int, **fields: object) -> dict[str, object]:
    return {"job_id": job_id, "job_state": ["PENDING"], "hold": True, **fields}


def jobs(*items: dict[str, object], last_update: int = 5) -> dict[str, object]:
    update = {"set": True, "infinite": False, "number": last_update}
    return {"jobs": list(items), "last_update": update, "errors": [], "warnings": []}


@pytest.fixture
def v42(server: HttpServer, client_of: MakeClient) -> SlurmClient:
    server.on("GET", f"{V}/ping", answer(200, PING))
    return client_of(api_version="v0.0.42")


async def test_the_newest_version_that_tells_exclusive_jobs_is_negotiated_and_kept(
    server: HttpServer, client_of: MakeClient
) -> None:
    for version in ("v0.0.45", "v0.0.44"):
        server.on("GET", f"/slurm/{version}/ping", answer(200, PING))
    server.on("GET", "/slurm/v0.0.44/job/1", answer(200, jobs(job(1, shared=["none"]))))
    client = client_of()
    assert (await client.ping()).api_version == "v0.0.44"
    found = await client.job(1)
    assert (found.exclusive, found.exclusive_known) == ("none", True)
    assert not server.to("GET", "/slurm/v0.0.45/ping")


async def test_the_oldest_slurm_is_found_too_and_its_jobs_tell_holds_by_priority(
    server: HttpServer, client_of: MakeClient
) -> None:
    for number in range(39, 46):
        server.on("GET", f"/slurm/v0.0.{number}/ping", GONE)
    ping = {"pings": [{"ping": "UP"}], "errors": [], "meta": {"Slurm": {"release": "22.05.8"}}}
    server.on("GET", "/slurm/v0.0.38/ping", answer(200, ping))
    old = {"job_id": 1, "job_state": "PENDING", "priority": 0, "shared": "none"}
    server.on("GET", "/slurm/v0.0.38/job/1", answer(200, {"errors": [], "jobs": [old]}))
    client = client_of()
    assert (await client.ping()).release == "22.05.8"
    assert (await client.job(1)).held


async def test_a_version_that_is_no_longer_served_is_negotiated_anew(
    server: HttpServer, client_of: MakeClient
) -> None:
    for number in (38, 39, 40, 41, 43, 45):
        server.on("GET", f"/slurm/v0.0.{number}/ping", GONE)
    server.on("GET", "/slurm/v0.0.44/ping", answer(200, PING), GONE)
    server.on("GET", f"{V}/ping", answer(200, PING))
    server.on("GET", "/slurm/v0.0.44/job/1", GONE)
    server.on("GET", f"{V}/job/1", answer(200, jobs(job(1))))
    assert (await client_of().job(1)).job_id == 1


async def test_no_common_version_is_for_good(server: HttpServer, client_of: MakeClient) -> None:
    for number in range(38, 46):
        server.on("GET", f"/slurm/v0.0.{number}/ping", GONE)
    with pytest.raises(Terminal) as caught:
        await client_of().job(1)
    assert caught.value.reason == "NoCommonVersion"


async def test_a_refused_token_does_not_settle_the_version(server: HttpServer, client_of: MakeClient) -> None:
    server.on("GET", "/slurm/v0.0.44/ping", answer(401, b"Authentication failure"), GONE)
    server.on("GET", "/slurm/v0.0.43/ping", answer(200, PING))
    client = client_of()
    with pytest.raises(Terminal) as caught:
        await client.job(1)
    assert caught.value.reason == "TokenInvalid"
    server.on("GET", "/slurm/v0.0.43/job/1", answer(200, jobs(job(1))))
    assert (await client.job(1)).job_id == 1


async def test_unchanged_is_not_taken_for_all_jobs_gone(v42: SlurmClient, server: HttpServer) -> None:
    server.on("GET", f"{V}/jobs/", answer(200, jobs(last_update=0)))
    assert not isinstance(await v42.jobs(since=4), Listing)
    server.on("GET", f"{V}/jobs/", answer(200, jobs(last_update=9)))
    assert await v42.jobs(since=4) == Listing(items=(), last_update=9)
    assert server.to("GET", f"{V}/jobs/")[0].query == {"update_time": "4"}


async def test_changed_nodes_are_read_at_once_though_partitions_did_not_change(
    v42: SlurmClient, server: HttpServer
) -> None:
    error = {"error_number": -1, "description": "Unable to query partitions", "source": "_dump_nodes"}
    server.on(
        "GET",
        f"{V}/nodes/",
        answer(500, {"errors": [error], "warnings": []}),
        answer(200, {"nodes": [], "last_update": 9, "errors": [], "warnings": []}),
    )
    assert await v42.nodes(since=4) == Listing(items=(), last_update=9)
    assert [call.query for call in server.to("GET", f"{V}/nodes/")] == [{"update_time": "4"}, {}]


async def test_calls_leave_nothing_for_the_garbage_collector(v42: SlurmClient, server: HttpServer) -> None:
    server.on("GET", f"{V}/job/1", answer(200, jobs(job(1))))
    server.on("GET", f"{V}/jobs/state/", answer(200, jobs()))
    server.on("GET", f"{V}/job/2", answer(404, {"errors": [{"error_number": 2017}]}))
    server.on("POST", f"{V}/job/1", answer(200, {"errors": [], "warnings": [{"description": "ignored"}]}))
    await v42.job(1)
    with none_left():
        await v42.job(1)
        await v42.job_states()
        with contextlib.suppress(Missing):
            await v42.job(2)
        with contextlib.suppress(Terminal):
            await v42.update_job(1, JobUpdate(comment="x"))


async def test_one_malformed_job_is_counted_and_the_others_live_on(
    v42: SlurmClient, server: HttpServer
) -> None:
    bad = {"job_id": "seven", "job_state": ["PENDING"]}
    server.on("GET", f"{V}/jobs/", answer(200, jobs(job(1), bad, job(3))))
    listing = await v42.jobs()
    assert isinstance(listing, Listing)
    assert ([found.job_id for found in listing.items], listing.malformed) == ([1, 3], 1)


@pytest.mark.parametrize("body", [b"<html>sign in</html>", b'{"jobs": [', b"[]", b"", b"null"])
async def test_a_200_that_is_not_json_is_no_answer(v42: SlurmClient, server: HttpServer, body: bytes) -> None:
    server.on("GET", f"{V}/jobs/", answer(200, body))
    server.on("GET", f"{V}/jobs/state/", answer(200, body))
    server.on("POST", f"{V}/job/1", answer(200, body))
    for asked in (v42.jobs(), v42.job_states(), v42.update_job(1, JobUpdate(comment="x"))):
        with pytest.raises(Retry):
            await asked


async def test_a_200_without_the_list_is_no_empty_list(v42: SlurmClient, server: HttpServer) -> None:
    server.on("GET", f"{V}/jobs/", answer(200, {"errors": [], "warnings": []}))
    server.on("GET", f"{V}/nodes/", answer(200, {"errors": [], "warnings": []}))
    for asked in (v42.jobs(), v42.nodes()):
        with pytest.raises(Retry):
            await asked


async def test_redirects_are_not_followed_with_the_token(v42: SlurmClient, server: HttpServer) -> None:
    server.on("GET", f"{V}/job/1", answer(302, headers={"Location": f"{server.url}/elsewhere"}))
    with pytest.raises(Terminal) as caught:
        await v42.job(1)
    assert caught.value.reason == "Redirected"
    assert not server.to("GET", "/elsewhere")


async def test_a_dropped_connection_is_tried_again_where_that_is_safe(
    v42: SlurmClient, server: HttpServer
) -> None:
    server.on("GET", f"{V}/job/1", cut, cut, answer(200, jobs(job(1))))
    assert (await v42.job(1)).job_id == 1
    server.on("GET", f"{V}/job/2", stream(b'{"jobs": [', then=cut), answer(200, jobs(job(2))))
    assert (await v42.job(2)).job_id == 2


async def test_a_signal_is_never_sent_twice(v42: SlurmClient, server: HttpServer) -> None:
    server.on("DELETE", f"{V}/job/1", cut, answer(200, {"errors": []}))
    with pytest.raises(Retry):
        await v42.cancel(1, signal="USR1")
    assert len(server.to("DELETE", f"{V}/job/1")) == 1
    await v42.cancel(1)


async def test_a_server_that_never_answers_ends_by_the_time_limit(server: HttpServer) -> None:
    server.on("GET", f"{V}/ping", hang)
    endpoint = SlurmEndpoint(base_url=server.url, timeout=0.2, api_version="v0.0.42")
    client = SlurmClient(endpoint, token=TokenSource(lambda: TOKEN, name="test"))
    with pytest.raises(Retry):
        await client.ping()
    await client.close()


async def test_a_caller_that_leaves_does_not_cancel_the_request(v42: SlurmClient, server: HttpServer) -> None:
    gate = asyncio.Event()
    server.on("GET", f"{V}/job/1", held(gate, answer(200, jobs(job(1)))))
    await v42.ping()
    for _ in range(6):
        asked = asyncio.create_task(v42.job(1))
        await server.arrived("GET", f"{V}/job/1", count=min(4, len(server.to("GET", f"{V}/job/1")) + 1))
        asked.cancel()
    gate.set()
    assert (await v42.job(1)).job_id == 1
    assert server.connections <= 4


async def test_at_most_four_calls_are_under_way(v42: SlurmClient, server: HttpServer) -> None:
    gate = asyncio.Event()
    for number in range(12):
        server.on("GET", f"{V}/job/{number}", held(gate, answer(200, jobs(job(number)))))
    await v42.ping()
    asked = [asyncio.create_task(v42.job(number)) for number in range(12)]
    await server.arrived("GET", f"{V}/job/3")
    assert sum("/job/" in request.path for request in server.requests) == 4
    gate.set()
    assert [(await one).job_id for one in asked] == list(range(12))
    assert server.connections <= 4


async def test_closing_lets_calls_under_way_end_and_turns_others_away(
    v42: SlurmClient, server: HttpServer
) -> None:
    gate = asyncio.Event()
    server.on("POST", f"{V}/job/1", held(gate, answer(200, {"errors": [], "warnings": []})))
    await v42.ping()
    under_way = asyncio.create_task(v42.update_job(1, JobUpdate(hold=Hold.TAKE)))
    await server.arrived("POST", f"{V}/job/1")
    closing = asyncio.create_task(v42.close())
    await asyncio.sleep(0)
    gate.set()
    await under_way
    await closing
    with pytest.raises(Retry):
        await v42.job(1)


async def test_an_answer_above_the_cap_is_cut_off(server: HttpServer, client_of: MakeClient) -> None:
    server.on("GET", f"{V}/ping", answer(200, PING))
    server.on("GET", f"{V}/jobs/", answer(200, jobs(*(job(n) for n in range(500)))))
    client = client_of(api_version="v0.0.42", max_body=10_000)
    with pytest.raises(Terminal) as caught:
        await client.jobs()
    assert caught.value.reason == "BodyTooLarge"


async def test_the_token_file_is_read_again_when_it_changes(server: HttpServer, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    server.on("GET", f"{V}/ping", answer(200, PING))
    endpoint = SlurmEndpoint(base_url=server.url, api_version="v0.0.42", user="root")
    client = SlurmClient(endpoint, token=TokenSource.file(file))
    await client.ping()
    file.write_text("second")
    os.utime(file, (1, 1))
    await client.ping()
    await client.close()
    assert [r.headers["x-slurm-user-token"] for r in server.requests] == ["first", "second"]


async def test_the_user_of_the_token_is_named_since_22_05_insists(
    v42: SlurmClient, server: HttpServer
) -> None:
    await v42.ping()
    assert server.requests[0].headers["x-slurm-user-name"] == "root"


async def test_every_call_is_told_with_a_path_that_names_nobody(server: HttpServer) -> None:
    told: list[tuple[str, str, int]] = []
    endpoint = SlurmEndpoint(base_url=server.url, api_version="v0.0.42")
    client = SlurmClient(
        endpoint,
        token=TokenSource(lambda: TOKEN, name="test"),
        on_call=lambda method, template, code, seconds, size: told.append((method, template, code)),
    )
    server.on("GET", f"{V}/ping", answer(200, PING))
    server.on("DELETE", f"{V}/node/pod-1", answer(500, {"errors": [{"error_number": 2018}]}))
    await client.delete_node("pod-1")
    await client.close()
    assert told == [("GET", "ping", 200), ("DELETE", "node/{name}", 500)]
