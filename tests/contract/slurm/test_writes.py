from __future__ import annotations

from pathlib import Path

import pytest

from k8s_bridge.core.errors import Conflict, Missing, Retry, Terminal
from k8s_bridge.slurm.client import AT_ONCE, Hold, JobUpdate, NodeState, SlurmClient
from tests.contract.http_server import HttpServer, answer
from tests.contract.slurm.conftest import MakeClient
from tests.contract.slurm.test_http_rules import PING, V, job, jobs

DONE = answer(200, {"errors": [], "warnings": []})
OLD = "/slurm/v0.0.38"


def failed(status: int, number: int) -> object:
    return answer(status, {"errors": [{"error_number": number, "error": "text"}], "warnings": []})


@pytest.fixture
def v42(server: HttpServer, client_of: MakeClient) -> SlurmClient:
    server.on("GET", f"{V}/ping", answer(200, PING))
    return client_of(api_version="v0.0.42")


@pytest.fixture
def scontrol(tmp_path: Path) -> Path:
    """A command that notes what it is called with and ends with the code in its file."""
    script = tmp_path / "scontrol"
    script.write_text(
        f'#!/bin/sh\nfor a in "$@"; do echo "$a"; done >>{tmp_path}/said\n'
        f'echo "$SLURM_JWT" >>{tmp_path}/token\necho "some words"\nexit "$(cat {tmp_path}/code)"\n'
    )
    script.chmod(0o755)
    (tmp_path / "code").write_text("0")
    return script


@pytest.fixture
def v38(server: HttpServer, client_of: MakeClient, scontrol: Path) -> SlurmClient:
    ping = {"pings": [{"ping": "UP"}], "errors": [], "meta": {"Slurm": {"release": "22.05.8"}}}
    server.on("GET", f"{OLD}/ping", answer(200, ping))
    return client_of(api_version="v0.0.38", scontrol=str(scontrol))


def node_there(server: HttpServer, name: str, state: str = "idle") -> None:
    server.on(
        "GET", f"{OLD}/node/{name}", answer(200, {"errors": [], "nodes": [{"name": name, "state": state}]})
    )


def node_missing(server: HttpServer, name: str) -> None:
    server.on("GET", f"{OLD}/node/{name}", answer(500, {"errors": [{"errno": 2018}], "nodes": []}))


async def test_only_the_fields_that_are_set_are_sent(v42: SlurmClient, server: HttpServer) -> None:
    server.on("POST", f"{V}/job/7", DONE)
    await v42.update_job(7, JobUpdate(hold=Hold.TAKE, constraints="", begin_time=AT_ONCE, required_nodes=()))
    assert server.to("POST", f"{V}/job/7")[0].json() == {
        "hold": True,
        "constraints": "",
        "begin_time": {"set": True, "infinite": False, "number": 1},
        "required_nodes": [""],
    }


async def test_the_oldest_version_gets_plain_words_and_no_admin_comment(
    v38: SlurmClient, server: HttpServer
) -> None:
    server.on("POST", f"{OLD}/job/7", DONE)
    await v38.update_job(
        7,
        JobUpdate(hold=Hold.RELEASE, begin_time=AT_ONCE, admin_comment="x", excluded_nodes=("a", "b")),
    )
    sent = server.to("POST", f"{OLD}/job/7")[0].json()
    assert sent == {"hold": False, "begin_time": "now", "exclude_nodes": "a,b"}
    await v38.update_job(7, JobUpdate(admin_comment="x"))
    assert len(server.to("POST", f"{OLD}/job/7")) == 1


@pytest.mark.parametrize("number", [2014, 2015])
async def test_a_change_that_was_made_is_a_success_though_no_node_could_run_the_job(
    v42: SlurmClient, server: HttpServer, number: int
) -> None:
    server.on("POST", f"{V}/job/7", failed(500, number))
    server.on("GET", f"{V}/job/7", answer(200, jobs(job(7, admin_comment="text"))))
    await v42.update_job(7, JobUpdate(hold=Hold.TAKE, admin_comment="text"))
    with pytest.raises(Conflict):
        await v42.update_job(7, JobUpdate(hold=Hold.RELEASE))


async def test_the_oldest_version_changes_arrays_and_complains_without_a_number(
    v38: SlurmClient, server: HttpServer
) -> None:
    server.on("POST", f"{OLD}/job/7", answer(200, {"errors": [{"description": "job array update failed"}]}))
    there = {"job_id": 7, "job_state": "PENDING", "priority": 0}
    server.on("GET", f"{OLD}/job/7", answer(200, {"errors": [], "jobs": [there]}))
    await v38.update_job(7, JobUpdate(hold=Hold.TAKE))
    with pytest.raises(Terminal):
        await v38.update_job(7, JobUpdate(hold=Hold.RELEASE))


async def test_a_warning_means_that_part_of_the_change_was_not_made(
    v42: SlurmClient, server: HttpServer
) -> None:
    warned = {"errors": [], "warnings": [{"description": "Ignoring unknown field"}]}
    server.on("POST", f"{V}/job/7", answer(200, warned))
    server.on("GET", f"{V}/job/7", answer(200, {**jobs(job(7)), **warned}))
    with pytest.raises(Terminal) as caught:
        await v42.update_job(7, JobUpdate(comment="x"))
    assert caught.value.reason == "RequestIgnored"
    assert (await v42.job(7)).job_id == 7


async def test_a_task_of_an_array_that_was_not_changed_fails_the_change(
    v42: SlurmClient, server: HttpServer
) -> None:
    results = [{"error_code": 0, "error": ""}, {"error_code": 2002, "error": "denied"}]
    server.on("POST", f"{V}/job/7", answer(200, {"results": results, "errors": [], "warnings": []}))
    with pytest.raises(Terminal) as caught:
        await v42.update_job(7, JobUpdate(comment="x"))
    assert caught.value.reason == "AccessDenied"


async def test_cancelling_what_is_over_is_a_success_and_what_never_was_is_missing(
    v42: SlurmClient, server: HttpServer
) -> None:
    def killed(code: int) -> object:
        return answer(200, {"status": [{"error": {"code": code, "string": "text"}}], "errors": []})

    server.on("DELETE", f"{V}/job/7", killed(2021))
    await v42.cancel(7)
    server.on("DELETE", f"{V}/job/7", killed(2017))
    with pytest.raises(Missing):
        await v42.cancel(7)


async def test_nodes_are_set_in_one_call_and_one_unknown_name_does_not_spare_the_others(
    v42: SlurmClient, server: HttpServer
) -> None:
    server.on("POST", f"{V}/nodes/", DONE)
    await v42.update_nodes(("a", "b"), state=NodeState.DOWN, reason="lost")
    assert server.to("POST", f"{V}/nodes/")[0].json() == {
        "name": ["a", "b"],
        "state": ["DOWN"],
        "reason": "lost",
    }
    server.on("POST", f"{V}/nodes/", failed(500, 2018))
    server.on("POST", f"{V}/node/a", failed(500, 2018))
    server.on("POST", f"{V}/node/b", DONE)
    await v42.update_nodes(("a", "b"), state=NodeState.DOWN, reason="lost")
    assert server.to("POST", f"{V}/node/b")[0].json() == {"state": ["DOWN"], "reason": "lost"}


async def test_a_busy_node_is_tried_again_and_an_unknown_one_is_deleted_already(
    v42: SlurmClient, server: HttpServer
) -> None:
    server.on("DELETE", f"{V}/node/a", failed(500, 2016))
    with pytest.raises(Retry):
        await v42.delete_node("a")
    server.on("DELETE", f"{V}/node/a", failed(422, 2018))
    await v42.delete_node("a")


@pytest.mark.parametrize("name", ["", "../job/1", "a b", "-x", "a,b", "a[1-2]", "a=b", "a\n"])
async def test_nothing_but_the_name_of_one_node_reaches_a_path_or_a_command(
    v42: SlurmClient, server: HttpServer, name: str
) -> None:
    for asked in (v42.delete_node(name), v42.update_nodes((name,), state=NodeState.DRAIN), v42.node(name)):
        with pytest.raises(Terminal):
            await asked
    assert {request.method for request in server.requests} <= {"GET"}


async def test_22_05_sets_nodes_by_scontrol_and_passes_over_unknown_ones(
    v38: SlurmClient, server: HttpServer, tmp_path: Path
) -> None:
    node_there(server, "a")
    node_missing(server, "b")
    await v38.update_nodes(("a", "b"), state=NodeState.DRAIN, reason="k8s-bridge: by\nus; rm -rf")
    said = (tmp_path / "said").read_text().splitlines()
    assert said == ["update", "nodename=a", "state=DRAIN", "reason=k8s-bridge: by us; rm -rf"]
    assert (tmp_path / "token").read_text().startswith("header.")


async def test_22_05_resumes_only_what_is_down_or_drained(
    v38: SlurmClient, server: HttpServer, tmp_path: Path
) -> None:
    node_there(server, "a")
    node_there(server, "b", state="down")
    await v38.update_nodes(("a", "b"), state=NodeState.RESUME)
    assert (tmp_path / "said").read_text().splitlines() == ["update", "nodename=b", "state=RESUME"]


async def test_22_05_deletes_by_scontrol_and_asks_rest_what_went_wrong(
    v38: SlurmClient, server: HttpServer, tmp_path: Path
) -> None:
    await v38.delete_node("a")
    assert (tmp_path / "said").read_text().splitlines() == ["delete", "nodename=a"]
    (tmp_path / "code").write_text("1")
    node_missing(server, "a")
    await v38.delete_node("a")
    node_there(server, "a", state="allocated")
    with pytest.raises(Retry):
        await v38.delete_node("a")


async def test_without_scontrol_the_text_says_what_to_install(
    server: HttpServer, client_of: MakeClient
) -> None:
    ping = {"pings": [{"ping": "UP"}], "errors": [], "meta": {"Slurm": {"release": "22.05.8"}}}
    server.on("GET", f"{OLD}/ping", answer(200, ping))
    client = client_of(api_version="v0.0.38", scontrol="/nonexistent/scontrol")
    with pytest.raises(Terminal, match="slurm-client") as caught:
        await client.delete_node("a")
    assert caught.value.reason == "ScontrolMissing"


async def test_a_signal_goes_to_the_steps_and_nowhere_where_the_script_would_get_it_too(
    v42: SlurmClient, v38: SlurmClient, server: HttpServer
) -> None:
    server.on("DELETE", "/slurm/v0.0.42/job/7", answer(200, {"errors": []}))
    await v42.cancel(7, signal="USR1")
    await v38.cancel(7, signal="USR1")
    (request,) = server.to("DELETE", "/slurm/v0.0.42/job/7")
    assert request.query == {"signal": "USR1", "flags": "FULL_STEPS_ONLY"}
    assert server.to("DELETE", "/slurm/v0.0.38/job/7") == []
