"""The bridge's own chart in the testbed: its values, the rights in it, and installing it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.chart import CHART, Values, render

from k8s_bridge.sandbox.apiserver.kinds import SECRETS, WORKLOADMIXINGS
from k8s_bridge.sandbox.world import World, objects
from k8s_bridge.sandbox.world.config import MIXING, NAMESPACE
from testbed import programs
from testbed.bridge_image import REPOSITORY
from testbed.control import kubectl
from testbed.places import KUBECONFIG, LOGS
from testbed.shell import Failed, inside, run

TOKEN_SECRET = "slurm-token"
VALUES: Values = {
    "image": {"repository": REPOSITORY},
    "slurmBridge": {
        "namespaces": [NAMESPACE],
        "gates": {"insecureTLS": True},
        "rbac": {"secrets": [TOKEN_SECRET]},
    },
}
"""How the testbed installs it, but for the tag."""
_KINDS = (
    "deployments",
    "jobs",
    "services",
    "configmaps",
    "secrets",
    "serviceaccounts",
    "poddisruptionbudgets",
    "networkpolicies",
    "roles",
    "rolebindings",
    "clusterroles",
    "clusterrolebindings",
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
)


def rights(values: Values, *, namespace: str) -> Iterator[dict[str, Any]]:
    """The bridge's ServiceAccount and everything that gives rights to it."""
    for found in render(values, namespace=namespace):
        is_right = found["kind"] == "ServiceAccount" or found["apiVersion"].startswith("rbac.")
        if is_right and "helm.sh/hook" not in found["metadata"].get("annotations", {}):
            yield found


def mixing_of(world: World) -> dict[str, Any]:
    """The world's own WorkloadMixing, with its token in a Secret, to be a release's."""
    world.delete(WORKLOADMIXINGS, MIXING)
    token = base64.b64encode(world.slurm.token_file.read_bytes()).decode()
    world.storage.create(SECRETS, {"metadata": {"name": TOKEN_SECRET}, "data": {"token": token}})
    _, mixing = objects.mixing(world.config, rest_url=world.slurm.rest_url, token_file="")
    reference = {"slurmTokenSecretRef": {"name": TOKEN_SECRET, "key": "token"}}
    return {"name": MIXING, "namespace": NAMESPACE, "spec": mixing["spec"] | reference}


class Release:
    """The chart as it is installed in a namespace. Raises Failed for what helm or the API server refuses."""

    def __init__(self, name: str, *, namespace: str) -> None:
        self.name = name
        self.namespace = namespace
        self.selector = f"app.kubernetes.io/instance={name}"

    def make_home(self) -> None:
        """An empty namespace of its own, where Pod Security is restricted, and nothing of an earlier one."""
        kubectl("delete", "namespace", self.namespace, "--ignore-not-found", "--timeout=60s")
        for left in self.left():
            kubectl("delete", left, "--ignore-not-found")
        kubectl("create", "namespace", self.namespace)
        kubectl("label", "namespace", self.namespace, "pod-security.kubernetes.io/enforce=restricted")

    def install(self, values: Values) -> None:
        """Install it, and wait until its pods are ready."""
        self._helm("install", CHART, "--wait", "--timeout=240s", "--values=-", values=values)

    def upgrade(self, values: Values) -> None:
        """Put other values in force, and wait until only new pods are left."""
        self._helm("upgrade", CHART, "--wait", "--timeout=240s", "--values=-", values=values)

    def test(self) -> None:
        """Run its own test."""
        self._helm("test", "--timeout=240s")

    def uninstall(self) -> None:
        """Remove it, and wait until its objects are gone."""
        self._helm("uninstall", "--wait", "--timeout=240s", "--ignore-not-found")

    def holder(self, bridge: str = "") -> str:
        """The process that holds the lease, its pod's name first; of the Ray bridge: -ray."""
        lease = f"{self.name}-k8s-bridge{bridge}-leader"
        found = json.loads(kubectl("-n", self.namespace, "get", "lease", lease, "-o", "json"))
        return str(found["spec"].get("holderIdentity") or "")

    def pods(self) -> set[str]:
        """Those that are not on their way out."""
        found = json.loads(kubectl("-n", self.namespace, "get", "pods", "-l", self.selector, "-o", "json"))
        return {
            pod["metadata"]["name"] for pod in found["items"] if "deletionTimestamp" not in pod["metadata"]
        }

    def left(self) -> list[str]:
        """All objects of the chart's kinds that are called as the release calls its own, as kind/name."""
        found = kubectl("get", ",".join(_KINDS), "--all-namespaces", "-o", "name").split()
        return [name for name in found if f"{self.name}-k8s-bridge" in name]

    def keep_logs(self) -> None:
        """Where the testbed's own are."""
        try:
            said = kubectl(
                "-n", self.namespace, "logs", "-l", self.selector, "--prefix", "--tail=-1",
                "--max-log-requests=20",
            )  # fmt: skip
        except Failed as error:
            said = str(error)
        (LOGS / f"bridge-{self.name}.log").write_text(said)

    def _helm(self, command: str, *words: str | Path, values: Values | None = None) -> None:
        place = (f"--namespace={self.namespace}", f"--kubeconfig={KUBECONFIG}")
        helm = (*inside(), programs.program("helm"), command, self.name, *words, *place)
        run(*helm, stdin=json.dumps(values or {}))
