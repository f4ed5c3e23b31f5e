from __future__ import annotations

from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8s_bridge.sandbox.slurm_fake import FakeSlurm, Settings, SlurmError, features, gres
from k8s_bridge.sandbox.slurm_fake.demand import Demand, place
from k8s_bridge.sandbox.slurm_fake.nodes import from_conf
from k8s_bridge.sandbox.slurm_fake.options import Script, array_tasks, read_script
from k8s_bridge.sandbox.slurm_fake.render import ranges
from k8s_bridge.sandbox.slurm_fake.versions import RELEASES, records


@pytest.mark.parametrize(
    ("expression", "have", "expected"),
    [
        ("", [], True),
        ("a", ["a"], True),
        ("a", ["b"], False),
        ("a&b", ["a"], False),
        ("a|b", ["b"], True),
        ("(a|b)&nodes-for-7", ["b", "nodes-for-7"], True),
        ("(a|b)&nodes-for-7", ["a", "b"], False),
        ("[a|b]&c", ["a", "c"], True),
        ("a*2&b*1", ["a", "b"], True),
    ],
)
def test_constraints(expression: str, have: list[str], expected: bool) -> None:
    assert features.matches(expression, have) is expected


def test_names_in_constraints() -> None:
    assert features.names("(a|b)&nodes-for-7*2") == {"a", "b", "nodes-for-7"}


def test_gres_texts() -> None:
    assert [str(item) for item in gres.owned("gpu:a100:4,shard:8,nic")] == ["gpu:a100:4", "shard:8", "nic:1"]
    assert gres.asked("gres/gpu:a100:2,gres:gpu")[0].type == "a100"
    with pytest.raises(SlurmError):
        gres.asked("gpu:3")


def test_scripts() -> None:
    assert read_script("#!/bin/bash\nsleep 3; srun sleep 1.5\nexit 4\n") == Script(run_time=4.5, exit_code=4)
    assert read_script("true") == Script()


def test_array_texts() -> None:
    assert array_tasks("0-6:3,9%2") == ([0, 3, 6, 9], 2)
    assert ranges([0, 1, 2, 7, 9, 10]) == "0-2,7,9-10"


def test_a_conf_that_slurmd_refuses() -> None:
    for conf in ("NodeName=x CPUs=1", "CPUs=1 Topology="):
        with pytest.raises(ValueError, match="fatal"):
            from_conf("w-1", conf, now=0)


def test_gpus_of_a_type_and_of_a_whole_job() -> None:
    nodes = [from_conf(name, "CPUs=4 Gres=gpu:a100:4", now=0) for name in "ab"]
    typed = Demand(per_node=gres.asked("gres/gpu:a100:3"))
    assert place(typed, nodes)[0].gres == ((0, 3),)  # type: ignore[index]
    assert place(Demand(per_node=gres.asked("gres/gpu:h100:1")), nodes) is None
    total = Demand(min_nodes=1, tasks=1, per_job=gres.asked("gres/gpu:6"), max_nodes=2)
    assert place(Demand(per_job=gres.asked("gres/gpu:9")), nodes) is None
    shares = place(Demand(**{**_fields(total), "tasks": 2}), nodes)
    assert [share.gres for share in shares or ()] == [((0, 4),), ((0, 2),)]


def _fields(demand: Demand) -> dict[str, Any]:
    return {name: getattr(demand, name) for name in Demand.__slots__}


@given(
    cpus=st.lists(st.integers(1, 8), min_size=1, max_size=6),
    tasks=st.integers(1, 12),
    cpus_per_task=st.integers(1, 4),
    min_nodes=st.integers(1, 4),
)
def test_a_placement_gives_exactly_what_was_asked(
    cpus: list[int], tasks: int, cpus_per_task: int, min_nodes: int
) -> None:
    nodes = [from_conf(f"w-{i}", f"CPUs={count}", now=0) for i, count in enumerate(cpus)]
    tasks = max(tasks, min_nodes)
    demand = Demand(min_nodes=min_nodes, tasks=tasks, cpus_per_task=cpus_per_task)
    shares = place(demand, nodes)
    room = [min(count // cpus_per_task, tasks) for count in cpus if count >= cpus_per_task]
    assert (shares is not None) == (len(room) >= min_nodes and sum(room) >= tasks)
    for share in shares or ():
        assert share.tasks >= 1
        assert share.cpus == share.tasks * cpus_per_task <= cpus[int(share.node[2:])]
    if shares:
        assert sum(share.tasks for share in shares) == tasks
        assert len(shares) >= min_nodes


@pytest.mark.parametrize("release", RELEASES)
async def test_each_release_serves_its_versions(release: str) -> None:
    known = RELEASES[release]
    async with await FakeSlurm.start(Settings(release=release)) as fake:
        job_id = fake.submit(shared=["none"])
        headers = {"X-SLURM-USER-TOKEN": fake.token}
        async with httpx.AsyncClient(base_url=fake.rest_url, headers=headers) as http:
            for version in known.full + known.ping_only:
                ping = (await http.get(f"/slurm/{version}/ping")).json()
                assert ping["pings"][0]["pinged"] == "UP"
                assert ping["meta"]["slurm"]["release"] == known.release
            for version in known.full:
                job = (await http.get(f"/slurm/{version}/job/{job_id}")).json()["jobs"][0]
                assert job.keys() == records(version)["job"].keys()
                assert job["shared"] == ([] if version == "v0.0.45" else ["none"])
                refused = await http.post(f"/slurm/{version}/job/{job_id}", json={"constraints": "nosuch"})
                assert refused.status_code == (422 if release == "26.05" else 500)
            assert (await http.get("/slurm/v0.0.30/ping")).status_code == 404
