"""No secret is told: planted ones are searched for in all that the bridge says, on good days and on bad."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from click.testing import CliRunner
from support.adversary import all_well, bridge
from support.tls import Authority, secret

from k8s_bridge.cli.main import main
from k8s_bridge.cli.output import Exit
from k8s_bridge.runtime.process import Process
from k8s_bridge.sandbox.apiserver.kinds import EVENTS, JOBSETS, SECRETS, WORKLOADMIXINGS, WORKLOADS
from k8s_bridge.sandbox.controllers.conditions import find
from k8s_bridge.sandbox.slurm_fake import Fault, FaultRule
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import AUTH_SECRET, MIXING, NAMESPACE
from k8s_bridge.slurm import credentials

BAD_SECONDS = 1.0
PAGES = ("/", "/metrics", "/debug/units", "/leader", "/healthz", "/readyz")
OF_A_JOB = ("/units/{}", "/debug/units/{}")
OF_GOOD_DAYS = ("it ends; then everything is given back", "Slurm takes the token")
"""Said by `explain` and `doctor`."""
FORMS = ("text/html", "application/json")
KUBE_TOKEN = "kube-token-planted-0123456789"
BAD_TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdW4iOiJwbGFudGVkIn0.c2lnbmF0dXJlLXBsYW50ZWQ"


async def told(world: World, process: Process, log: io.StringIO) -> str:
    """Everything that anybody can read: logs, pages, commands, statuses, Events, JobSets, texts on jobs."""
    address = f"http://{process.address.host}:{process.address.port}"
    job = min(world.jobs)
    async with httpx.AsyncClient(base_url=address) as client:
        pages = [await page(client, path.format(job), form) for path in (*PAGES, *OF_A_JOB) for form in FORMS]
    seen = ("--kubeconfig", str(world.kubeconfig))
    commands = [
        await command(*words)
        for words in (
            ("top", "--once", "--address", address),
            ("explain", str(job), "--address", address),
            ("doctor", "--all", *seen),
        )
    ]
    kinds = (EVENTS, WORKLOADMIXINGS, JOBSETS, WORKLOADS)
    objects = [json.dumps(obj) for kind in kinds for obj in world.storage.list(kind)]
    texts = [world.text(job_id) for job_id in world.jobs]
    return "\n".join([log.getvalue(), *pages, *commands, *objects, *texts])


async def page(client: httpx.AsyncClient, path: str, form: str) -> str:
    answer = await client.get(path, headers={"Accept": form})
    assert answer.text != "Not Found", path
    return answer.text


async def command(*words: str) -> str:
    result = await asyncio.to_thread(CliRunner().invoke, main, words)
    assert result.exit_code in (0, Exit.UNWELL, Exit.UNKNOWN_UNIT), result.output
    return str(result.output)


def condition(world: World, kind: str) -> dict[str, Any]:
    return dict(find(world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING), kind) or {})


def forms(text: str) -> set[str]:
    """As it is, and as whoever encodes it would write it; long texts by any of their parts."""
    parts = {text, *text.split("."), *text.splitlines()}
    spoken = {part for part in parts if len(part) > 15 and "-----" not in part}
    return spoken | {base64.b64encode(text.encode()).decode()}


async def test_nothing_that_is_said_holds_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(credentials, "RETRY", 0.2)
    monkeypatch.setattr(credentials, "REFRESH", 0.2)
    log, said = io.StringIO(), list[str]()
    certificate, key = Authority(tmp_path / "pki").issue("planted")
    async with World.start(WorldConfig(directory=tmp_path / "world", slurm=Backend.FAKE)) as world:
        storage = world.storage
        storage.create(SECRETS, secret("cert", namespace=NAMESPACE, tls_crt=certificate, tls_key=key))
        edit(world, slurmClientCertRef={"name": "cert"})
        good = world.slurm.token_file.read_text().strip()
        munge = storage.get(SECRETS, NAMESPACE, AUTH_SECRET).get("data", {})
        planted = forms(good) | forms(BAD_TOKEN) | forms(key.read_text()) | set(munge.values())
        planted |= forms(plant_kube_token(world))
        async with bridge(world, log=log) as process:
            job = await world.sbatch(JobRequest(seconds=600))
            await world.until_state(job, "RUNNING")
            said.append(await told(world, process, log))
            for text, words in ((BAD_TOKEN, "False"), (f"{good}\nInjected: header", "is not a JWT")):
                world.write_token(text)
                await says(world, words)
                said.append(await told(world, process, log))
            storage.create(SECRETS, of_token(BAD_TOKEN))
            edit(world, slurmTokenFile=None, slurmTokenSecretRef={"name": "token", "key": "token"})
            await says(world, f"Secret {NAMESPACE}/token")
            said.append(await told(world, process, log))
            storage.patch(SECRETS, NAMESPACE, "token", of_token(good))
            await says(world, "True")
            for fault in (Fault.NOT_JSON, Fault.RESET, Fault.LOST_ANSWER):
                world.slurm.slurm.inject(FaultRule(fault=fault, probability=0.5))
                stirred = await world.sbatch(JobRequest(seconds=0.1))
                await asyncio.sleep(BAD_SECONDS)
                world.slurm.slurm.inject()
                await world.until_state(stirred, "COMPLETED")
            said.append(await told(world, process, log))
            await world.scancel(job)
            await all_well(world, stirred)
    assert all(words in one for words in OF_GOOD_DAYS for one in (said[0], said[-1]))
    assert [text for text in planted if any(text in one for one in said)] == []


def edit(world: World, **spec: object) -> None:
    world.storage.patch(WORKLOADMIXINGS, NAMESPACE, MIXING, {"spec": spec})


def of_token(text: str) -> dict[str, Any]:
    data = {"token": base64.b64encode(text.encode()).decode()}
    return {"metadata": {"name": "token", "namespace": NAMESPACE}, "data": data}


async def says(world: World, words: str) -> None:
    """TokenValid has them, as its status or in its message."""
    await world.until(lambda: words in f"{condition(world, 'TokenValid')}", what=f"TokenValid says {words}")


def plant_kube_token(world: World) -> str:
    """The sandbox asks for none, and takes any."""
    config = yaml.safe_load(world.kubeconfig.read_text())
    config["users"][0]["user"]["token"] = KUBE_TOKEN
    world.kubeconfig.write_text(yaml.safe_dump(config))
    return KUBE_TOKEN
