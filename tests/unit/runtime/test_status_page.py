"""The status page says what there is, to whom may see it, and whatever people call their jobs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from html.parser import HTMLParser

import httpx
import pytest
from support.status_sample import HOSTILE, NOW, sample

from k8s_bridge.core.conditions import Finding
from k8s_bridge.runtime.http import application
from k8s_bridge.runtime.pages import render
from k8s_bridge.runtime.pages.routes import Pages
from k8s_bridge.runtime.product import RAY
from k8s_bridge.runtime.reading import Reading
from k8s_bridge.runtime.turn import Turn
from k8s_bridge.runtime.units import AT_A_TIME, UnitDetail, UnitRow

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
JSON = {"Accept": "application/json"}


class Page(HTMLParser):
    """What a browser would find: elements, and the texts in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


async def get(path, *, headers, endpoints=None):
    transport = httpx.ASGITransport(app=application(endpoints or sample()), client=("127.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as browser:
        return await browser.get(path, headers=headers)


async def page(path="/", **more):
    return Page((await get(path, headers=HTML, **more)).text)


async def test_units_are_told_with_state_and_reason_what_runs_first():
    shown = (await page()).text
    assert shown.index("42 Running 11m ada batch team-a") < shown.index("7-s0 slot Refused")
    assert "--switches cannot be met" in shown
    assert "slurm-job-42-0" in shown


async def test_queues_quota_conditions_and_guards_are_told():
    shown = (await page()).text
    assert "team-a shared 3 2" in shown
    assert "6 + 2 of 8 cpu" in shown
    assert "12 Gi + 8 Gi of 64 Gi memory" in shown
    assert "LocalQueue hpc/team-b does not exist; create it or correct localQueue" in shown
    assert "look Ready LocalQueue hpc/team-b" in shown
    assert "ok Conflicting NoConflict" in shown
    assert "ok Mass deletion no suspicious disappearance of jobs" in shown
    assert "Slurm 24.11.5, cluster hpc, API v0.0.41" in shown
    assert "Slurm answered 3s ago · token good for 1d00h · 5 Slurm nodes" in shown


async def test_recent_changes_are_told_the_newest_first_and_what_was_done_as_planned_is_not():
    shown = (await page()).text
    assert shown.index("NodesDelete failed") < shown.rindex("waits: ")
    assert "TakeHold" not in shown


@pytest.mark.parametrize(
    "path", ["/", "/units/43", "/units/" + HOSTILE.replace("/", "%2F"), "/?q=" + HOSTILE]
)
async def test_what_people_write_stays_text(path):
    answer = await get(path.replace("#", "%23"), headers=HTML)
    shown = Page(answer.text)
    assert {tag for tag, _ in shown.elements} & {"script", "img", "iframe", "object"} == set()
    assert not [name for _, attributes in shown.elements for name in attributes if name.startswith("on")]
    assert HOSTILE in "".join(shown.words) + "".join(a.get("value") or "" for _, a in shown.elements)


async def test_nothing_from_elsewhere_is_loaded_and_nothing_can_be():
    answer = await get("/", headers=HTML)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    for tag, attributes in Page(answer.text).elements:
        assert "style" not in attributes
        assert not attributes.get("src")
        assert tag != "link"
        assert (attributes.get("href") or "/").startswith("/")


async def test_the_same_is_told_as_json_to_who_asks_for_it():
    found = (await get("/", headers=JSON)).json()
    assert found["now"] == NOW
    assert [unit["name"] for unit in found["units"]][:2] == ["42", "team/report"]
    (bridge,) = found["bridges"]
    assert bridge["name"] == "hpc/main"
    assert bridge["queues"][0]["amounts"][0] == {
        "flavor": "default", "resource": "cpu", "used": 6.0, "used_by_all": 8.0, "nominal": 8.0
    }  # fmt: skip
    assert {sign["name"]: sign["well"] for sign in bridge["conditions"]} == {
        "Ready": False,
        "Conflicting": True,
    }
    assert found["changes"][0]["what"] == "NodesDelete"
    (unit,) = (await get("/units/43", headers=JSON)).json()
    assert unit["row"]["user"] == HOSTILE
    assert (await get("/units/99", headers=JSON)).status_code == 404


async def test_a_unit_is_told_in_full_also_one_with_a_slash_in_its_name():
    shown = (await page("/units/7-s0")).text
    assert "slot 7-s0 Refused" in shown
    assert "--mem=4G 4096 MiB" in shown
    links = [
        a["href"] for tag, a in (await page()).elements if tag == "a" and "report" in (a.get("href") or "")
    ]
    assert "Job team/report" in (await page(links[0])).text


async def test_an_unknown_unit_is_said_to_be_unknown():
    answer = await get("/units/99", headers=HTML)
    assert answer.status_code == 404
    assert "No unit 99" in Page(answer.text).text


@pytest.mark.parametrize(("query", "names"), [("ADA", ["42"]), ("refused", ["7-s0"]), ("nothing such", [])])
async def test_units_are_found_by_what_people_search_for(query, names):
    found = (await page(f"/?q={query}")).elements
    links = [a["href"] for tag, a in found if tag == "a" and (a.get("href") or "").startswith("/units/")]
    assert list(dict.fromkeys(links))[: len(names)] == [f"/units/{name}" for name in names]


def many(count):
    """A bridge with so many units; how often it was asked for all of them."""
    endpoints, asked = sample(known=False), []

    def source(name):
        asked.append(name)
        for n in range(count):
            yield UnitDetail(row=UnitRow(kind="Slurm job", name=str(n), state="Queued"))

    endpoints.units.add("hpc/main", source)
    return endpoints, asked


async def test_thousands_of_units_are_counted_and_the_first_are_shown():
    answer = await get("/", headers=HTML, endpoints=many(5_000)[0])
    assert f"5000, the first {render.SHOWN} are shown" in Page(answer.text).text
    assert len(answer.text) < 300_000


async def test_readers_share_one_look_and_others_have_their_turn_meanwhile():
    endpoints, asked = many(5_000)
    turns = 0

    async def something_else():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(something_else())
    pages = Pages(endpoints.shown)
    await asyncio.gather(*(pages._overview() for _ in range(5)))
    task.cancel()
    assert asked == [""]
    assert turns >= 5_000 / AT_A_TIME


async def test_a_standby_says_so_and_where_the_leader_is():
    turn = Turn(leads=False, leader="k8s-bridge-7c9-x2x_1_ab")
    shown = (await page(endpoints=sample(turn=turn, known=False))).text
    assert "standby" in shown
    assert "The leader is k8s-bridge-7c9-x2x : kubectl port-forward pod/k8s-bridge-7c9-x2x 8080:8080" in shown
    found = (await get("/", headers=JSON, endpoints=sample(turn=turn, known=False))).json()
    assert found["turn"] == {"leads": False, "leader": "k8s-bridge-7c9-x2x_1_ab"}
    assert (
        "k8s-bridge-7c9-x2x leads" in (await page("/units/42", endpoints=sample(turn=turn, known=False))).text
    )


async def test_a_standby_without_a_leader_says_that():
    shown = (await page(endpoints=sample(turn=Turn(leads=False), known=False))).text
    assert "Nobody leads now." in shown


@pytest.mark.parametrize(
    ("value", "resource", "text"),
    [
        (3, "cpu", "3"),
        (0.25, "cpu", "0.25"),
        (64 * 2**30, "memory", "64 Gi"),
        (0, "memory", "0"),
        (12_000, "pods", "12000"),
    ],
)
def test_amounts_are_short(value, resource, text):
    assert render.amount(value, resource) == text


async def test_the_ray_bridge_has_a_page_of_its_own_kind():
    endpoints = replace(sample(), product=RAY)
    ready = Finding(type=RAY.ready, status="True", reason="Ready")
    endpoints.metrics.gauges.judge("hpc/main", lambda: {RAY.ready: ready})
    endpoints.metrics.gauges.watch("hpc/main", Reading)
    shown = (await page(endpoints=endpoints)).text
    assert "ray-bridge leader" in shown
    assert "hpc/main Ready" in shown
    assert "Slurm answered" not in shown
    assert "Mass deletion" not in shown
    assert "Queues and quota" not in shown
    assert (await get("/", headers=JSON, endpoints=endpoints)).json()["product"] == "ray-bridge"
