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
from support.adversary import all_well, bridge
from support.tls import Authority, secret

from k8s_bridge.runtime.process import Process
from k8s_bridge.sandbox.apiserver.kinds import EVENTS, JOBSETS, SECRETS, WORKLOADMIXINGS, WORKLOADS
from k8s_bridge.sandbox.controllers.conditions import find
from k8s_bridge.sandbox.slurm_fake import Fault, FaultRule
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import AUTH_SECRET, MIXING, NAMESPACE
from k8s_bridge.slurm import credentials

BAD_SECONDS = 1.0
PAGES = ("/metrics", "/units", "/healthz", "/readyz")
KUBE_TOKEN = "kube-token-planted-0123456789"
BAD_TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdW4iOiJwbGFudGVkIn0.c2lnbmF0dXJlLXBsYW50ZWQ"


async def told(world: World, process: Process, log: io.StringIO) -> str:
    """Everything that anybody can read: logs, pages, statuses, Events, JobSets, texts on jobs."""
    address = process.address
    async with httpx.AsyncClient(base_url=f"http://{address.host}:{address.port}") as client:
        pages = [(await client.get(page)).text for page in PAGES]
    kinds = (EVENTS, WORKLOADMIXINGS, JOBSETS, WORKLOADS)
    objects = [json.dumps(obj) for kind in kinds for obj in world.storage.list(kind)]
    texts = [world.text(job_id) for job_id in world.jobs]
    return "\n".join([log.getvalue(), *pages, *objects, *texts])


def condition(world: World, kind: str) -> dict[str, Any]:
    return dict(find(world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING), kind) or {})


def forms(text: str) -> set[str]:
    """As it is, and as whoever encodes it would write it; long texts by any of their parts."""
    parts = {text, *text.split("."), *text.splitlines()}
    spoken = {part for part in parts if len(part) > 15 and "-----" not in part}
    return spoken | {base64.b64encode(text.encode()).decode()}


async def test_nothing_that_is_said_holds_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(credentials, "RETRY", 0.2)
    log = io.StringIO()
    certificate, key = Authority(tmp_path / "pki").issue("planted")
    async with World.start(WorldConfig(directory=tmp_path / "world", slurm=Backend.FAKE)) as world:
        storage = world.storage
        storage.create(SECRETS, secret("cert", namespace=NAMESPACE, tls_crt=certificate, tls_key=key))
        storage.patch(WORKLOADMIXINGS, NAMESPACE, MIXING, {"spec": {"slurmClientCertRef": {"name": "cert"}}})
        good = world.slurm.token_file.read_text().strip()
        munge = storage.get(SECRETS, NAMESPACE, AUTH_SECRET).get("data", {})
        planted = forms(good) | forms(BAD_TOKEN) | forms(key.read_text()) | set(munge.values())
        planted |= forms(plant_kube_token(world))
        async with bridge(world, log=log) as process:
            job = await world.sbatch(JobRequest(seconds=0.3))
            await all_well(world, job)

            world.write_token(BAD_TOKEN)
            await world.until(
                lambda: condition(world, "TokenValid").get("status") == "False", what="the bad token is said"
            )
            world.write_token(f"{good}\nInjected: header")
            await world.until(
                lambda: "is not a JWT" in condition(world, "TokenValid").get("message", ""), what="so is that"
            )
            world.write_token(good)
            for fault in (Fault.NOT_JSON, Fault.RESET, Fault.LOST_ANSWER):
                world.slurm.slurm.inject(FaultRule(fault=fault, probability=0.5))
                stirred = await world.sbatch(JobRequest(seconds=0.1))
                await asyncio.sleep(BAD_SECONDS)
                world.slurm.slurm.inject()
                await all_well(world, stirred)
            said = await told(world, process, log)
    assert MIXING in said
    assert [text for text in planted if text in said] == []


def plant_kube_token(world: World) -> str:
    """The sandbox asks for none, and takes any."""
    config = yaml.safe_load(world.kubeconfig.read_text())
    config["users"][0]["user"]["token"] = KUBE_TOKEN
    world.kubeconfig.write_text(yaml.safe_dump(config))
    return KUBE_TOKEN
