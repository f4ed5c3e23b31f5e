from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
import yaml
from click.testing import CliRunner

from k8s_bridge.cli import render_job
from k8s_bridge.cli.output import Exit
from k8s_bridge.cli.render import render
from k8s_bridge.sandbox.slurm_fake import FakeSlurm
from k8s_bridge.slurm.model import Job

PARTITION = {"partitionName": "mixing", "workloadPriorityClass": "normal"}
SPEC = {
    "slurmRestURL": "https://slurm.example:6820",
    "localQueue": "main",
    "partitionMappings": [PARTITION],
    "slurmd": {"image": "slurmd:24.11", "confServer": "ctl:6817", "authSecretName": "auth"},
}
SCRIPT = """#!/bin/bash
#SBATCH -J train -N2 -n4 --mem=4G  # two nodes
#SBATCH --gres=gpu:2 --mail-type=END --x11-proxy=on
srun ./train
#SBATCH -N9
"""


class Desk:
    """A folder with a document and a script, and the command that reads them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.document(SPEC)
        self.script(SCRIPT)

    def document(self, spec) -> None:
        (self.folder / "mixing.yaml").write_text(yaml.safe_dump({**spec, "namespace": "jobs"}))

    def script(self, text) -> None:
        (self.folder / "job.sh").write_text(text)

    def render(self, *args, target="job.sh", env=None, stdin=None):
        where = str(self.folder / target) if target == "job.sh" else target
        config = str(self.folder / "mixing.yaml")
        return CliRunner().invoke(render, [where, "--config", config, *args], env=env, input=stdin)


@pytest.fixture
def desk(tmp_path, monkeypatch) -> Desk:
    for name in ("SBATCH_GRES", "SBATCH_TIMELIMIT"):
        monkeypatch.delenv(name, raising=False)
    return Desk(tmp_path)


def pods(manifest):
    jobs = [job["template"]["spec"] for job in manifest["spec"]["replicatedJobs"]]
    return [
        (job["completions"], job["template"]["spec"]["containers"][0]["resources"]["limits"]) for job in jobs
    ]


def test_a_script_becomes_its_jobset(desk):
    result = desk.render()
    assert result.exit_code == 0, result.output
    manifest = yaml.safe_load(result.stdout)
    assert manifest["metadata"]["name"] == "slurm-job-1"
    assert manifest["metadata"]["namespace"] == "jobs"
    assert manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "main"
    ((count, limits),) = pods(manifest)
    assert (count, limits["cpu"], limits["nvidia.com/gpu"]) == (2, "2", "2")


def test_what_became_of_each_option_is_told_beside_the_manifest(desk):
    result = desk.render("--", "-n6")
    for text in ("4096 MiB on each node", "2 nodes", "--x11-proxy=on", "overridden", "command line"):
        assert text in " ".join(result.stderr.split()), text
    assert "2 pods with 3 tasks, 3 CPUs, 4096 MiB, 2 gpu" in result.stderr
    assert "--nodes=9" not in result.stderr


def test_the_story_alone(desk):
    result = desk.render("--explain")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "2 nodes" in result.stderr


def test_variables_and_the_command_line_count_as_for_sbatch(desk):
    result = desk.render("-o", "json", "--job-id", "77", "--", "--gres=gpu:4", env={"SBATCH_TIMELIMIT": "10"})
    manifest = json.loads(result.stdout)
    assert manifest["metadata"]["name"] == "slurm-job-77"
    ((_, limits),) = pods(manifest)
    assert limits["nvidia.com/gpu"] == "4"
    assert manifest["spec"]["replicatedJobs"][0]["template"]["spec"]["activeDeadlineSeconds"] > 600


def test_a_script_from_stdin(desk):
    result = desk.render(target="-", stdin="#!/bin/sh\n#SBATCH -n3\n")
    ((_, limits),) = pods(yaml.safe_load(result.stdout))
    assert limits["cpu"] == "3"


def test_a_refused_option_ends_it_with_the_reason(desk):
    desk.script("#!/bin/sh\n#SBATCH --nodelist=n1\n")
    result = desk.render()
    assert result.exit_code == Exit.FAILED
    assert result.stdout == ""
    assert "refused for --nodelist: Nodes are made for the job; use --constraint." in result.stderr


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("#!/bin/sh\n#SBATCH -n 0\n", "line 2: --ntasks: '0' is not a whole number"),
        ("echo\n", "line 1: a script begins with #!"),
        ("#!/bin/sh\n#SBATCH -p other\n", "partition other is not among the partitionMappings (mixing)"),
    ],
)
def test_a_script_that_cannot_be_used_says_what_to_do(desk, script, says):
    desk.script(script)
    result = desk.render()
    assert result.exit_code == Exit.USAGE
    assert says in " ".join(result.stderr.split())


def test_without_a_partition_the_only_one_is_meant_but_not_one_of_two(desk):
    desk.document({**SPEC, "partitionMappings": [PARTITION, {**PARTITION, "partitionName": "b"}]})
    result = desk.render()
    assert result.exit_code == Exit.USAGE
    assert "choose one with -p" in result.stderr
    assert desk.render("--", "-p", "b").exit_code == 0


def test_a_document_that_is_wrong_names_the_field(desk):
    desk.document({**SPEC, "localQueue": None})
    result = desk.render()
    assert result.exit_code == Exit.USAGE
    assert "localQueue" in result.stderr


def test_a_file_that_is_not_there(desk):
    result = desk.render(target="nosuch.sh")
    assert result.exit_code == Exit.USAGE
    assert "there is no file nosuch.sh" in result.stderr


class Known(NamedTuple):
    """A Slurm, and the ids of held jobs there: one, a heterogeneous one, an array."""

    url: str
    token: str
    job_id: int
    het: int
    array: int


@pytest.fixture
def slurm() -> Iterator[Known]:
    """One that runs in a thread of its own."""
    ready, end, loop = threading.Event(), asyncio.Event(), asyncio.new_event_loop()
    found: list[Known] = []

    async def serve() -> None:
        async with await FakeSlurm.start() as fake:
            job = {"hold": True, "tasks": 3, "current_working_directory": "/tmp", "environment": ["A=b"]}
            headers = {"X-SLURM-USER-TOKEN": fake.token, "X-SLURM-USER-NAME": "root"}
            async with httpx.AsyncClient(base_url=fake.rest_url, headers=headers) as client:
                body = {"script": "#!/bin/sh\nsleep 9\n", "job": {**job, "partition": "all"}}
                answer = (await client.post("/slurm/v0.0.42/job/submit", json=body)).json()
            het = fake.submit_het({"tasks": 1}, {"tasks": 2})
            array = fake.submit(array="1-4", hold=True)
            found.append(Known(fake.rest_url, fake.token, answer["job_id"], het, array))
            ready.set()
            await end.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert ready.wait(20)
        yield found[0]
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
        loop.close()


def at(desk, url, *, token) -> None:
    (desk.folder / "token").write_text(token)
    desk.document(
        {
            **SPEC,
            "slurmRestURL": url,
            "allowInsecureHTTP": True,
            "slurmTokenFile": str(desk.folder / "token"),
            "partitionMappings": [{**PARTITION, "partitionName": "all"}],
        }
    )


def test_a_job_that_slurm_knows(desk, slurm):
    at(desk, slurm.url, token=slurm.token)
    result = desk.render(target=str(slurm.job_id))
    assert result.exit_code == 0, result.output
    manifest = yaml.safe_load(result.stdout)
    assert manifest["metadata"]["name"] == f"slurm-job-{slurm.job_id}"
    assert "--ntasks=3" in result.stderr
    ((_, limits),) = pods(manifest)
    assert limits["cpu"] == "3"


@pytest.mark.parametrize("component", [0, 1])
@pytest.mark.parametrize("by_offset", [True, False])
def test_a_heterogeneous_job_is_shown_whole_by_the_name_of_any_component(desk, slurm, component, by_offset):
    at(desk, slurm.url, token=slurm.token)
    result = desk.render(target=f"{slurm.het}+{component}" if by_offset else str(slurm.het + component))
    assert result.exit_code == 0, result.output
    manifest = yaml.safe_load(result.stdout)
    assert manifest["metadata"]["name"] == f"slurm-job-{slurm.het}"
    assert [limits["cpu"] for _, limits in pods(manifest)] == ["1", "2"]
    assert f"job {slurm.het + 1}" in result.stderr


@pytest.mark.parametrize("suffix", ["", "_3", "_[1-4]"])
def test_an_array_is_shown_by_whatever_name_squeue_has_for_it(desk, slurm, suffix):
    at(desk, slurm.url, token=slurm.token)
    result = desk.render(target=f"{slurm.array}{suffix}")
    assert result.exit_code == 0, result.output
    assert yaml.safe_load(result.stdout)["metadata"]["name"] == f"slurm-job-{slurm.array}-s0"


async def test_a_task_that_has_started_stands_for_its_array():
    known = {42: Job(job_id=42, array_job_id=42), 45: Job(job_id=45, array_job_id=42, array_task_id=3)}

    class Slurm:
        async def job(self, job_id: int) -> Job:
            return known[job_id]

    assert await render_job._whole(Slurm(), known[45]) == (known[42],)


def test_a_job_that_slurm_does_not_know_has_an_exit_code_of_its_own(desk, slurm):
    at(desk, slurm.url, token=slurm.token)
    result = desk.render(target="4711")
    assert result.exit_code == Exit.UNKNOWN_UNIT
    assert "knows no job 4711" in result.stderr


def test_options_do_not_go_with_a_job(desk):
    result = desk.render("--", "-n2", target="12")
    assert result.exit_code == Exit.USAGE
    assert "a job has its own" in result.stderr


def test_a_token_in_the_cluster_is_not_asked_for(desk):
    desk.document({**SPEC, "slurmTokenSecretRef": {"name": "token", "key": "jwt"}})
    result = desk.render(target="12")
    assert result.exit_code == Exit.FAILED
    assert "Secret jobs/token" in result.stderr
    assert "--token-file" in result.stderr


@pytest.mark.parametrize(
    ("url", "token", "says"),
    [("http://127.0.0.1:1", "x.y.z", "http://127.0.0.1:1"), (None, "e30.e30.e30", "1007")],
    ids=["out of reach", "a token that is not taken"],
)
def test_a_slurm_that_cannot_be_asked_is_named_with_a_next_step(desk, slurm, url, token, says):
    at(desk, url or slurm.url, token=token)
    result = desk.render(target="1")
    assert result.exit_code == Exit.FAILED, result.output
    assert says in result.stderr
    assert (url or slurm.url) in result.stderr
    assert "k8s-bridge doctor" in result.stderr
    assert token not in result.stderr
