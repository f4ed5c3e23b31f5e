"""slurmrestd behind TLS asks for a certificate: the one of the spec is shown, and renewed with its Secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.adversary import all_well, bridge, until
from support.tls import Authority, Door, secret

from k8s_bridge.sandbox.apiserver.kinds import SECRETS, WORKLOADMIXINGS
from k8s_bridge.sandbox.controllers.conditions import find
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import MIXING, NAMESPACE
from k8s_bridge.slurm import credentials

CERTIFICATE, BUNDLE = "slurm-client", "slurm-ca"


def reachable(world: World) -> dict[str, Any]:
    found = world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)
    return dict(find(found, "SlurmReachable") or {})


async def test_a_client_certificate_is_shown_and_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(credentials, "REFRESH", 0.2)
    monkeypatch.setattr(credentials, "RETRY", 0.2)
    authority = Authority(tmp_path / "pki")
    first, second = authority.issue("first"), authority.issue("second")
    async with World.start(WorldConfig(directory=tmp_path / "world", slurm=Backend.FAKE)) as world:
        storage = world.storage
        async with Door(authority, to=world.slurm.rest_url).open() as door:
            storage.create(SECRETS, secret(BUNDLE, namespace=NAMESPACE, ca_crt=authority.bundle))
            behind_tls = {
                "slurmRestURL": door.url,
                "allowInsecureHTTP": False,
                "slurmCARef": {"kind": "Secret", "name": BUNDLE, "key": "ca.crt"},
            }
            storage.patch(WORKLOADMIXINGS, NAMESPACE, MIXING, {"spec": behind_tls})
            async with bridge(world):
                await world.until(
                    lambda: reachable(world).get("status") == "False", what="it says that it is not let in"
                )
                assert door.guests == set()
                crt, key = first
                storage.create(SECRETS, secret(CERTIFICATE, namespace=NAMESPACE, tls_crt=crt, tls_key=key))
                shown = {"spec": {"slurmClientCertRef": {"name": CERTIFICATE}}}
                storage.patch(WORKLOADMIXINGS, NAMESPACE, MIXING, shown)
                await all_well(world, await world.sbatch(JobRequest(seconds=0.3)))
                assert door.guests == {"first"}

                crt, key = second
                storage.patch(
                    SECRETS,
                    NAMESPACE,
                    CERTIFICATE,
                    {"data": secret("", namespace="", tls_crt=crt, tls_key=key)["data"]},
                )
                await until(lambda: "second" in door.guests, what="the renewed certificate is shown")
                await all_well(world, await world.sbatch(JobRequest(seconds=0.3)))
