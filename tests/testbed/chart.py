"""The bridge's own chart in the testbed: its values, the rights in it, and installing it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.chart import CHART, Values, render

from k8s_bridge.sandbox.world.config import NAMESPACE
from testbed import programs
from testbed.bridge_image import REPOSITORY
from testbed.places import KUBECONFIG
from testbed.shell import inside, run

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


def rights(values: Values, *, namespace: str) -> Iterator[dict[str, Any]]:
    """The bridge's ServiceAccount and everything that gives rights to it."""
    for found in render(values, namespace=namespace):
        is_right = found["kind"] == "ServiceAccount" or found["apiVersion"].startswith("rbac.")
        if is_right and "helm.sh/hook" not in found["metadata"].get("annotations", {}):
            yield found


class Release:
    """The chart as it is installed in a namespace. Raises Failed for what helm or the API server refuses."""

    def __init__(self, name: str, *, namespace: str) -> None:
        self.name = name
        self.namespace = namespace

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

    def _helm(self, command: str, *words: str | Path, values: Values | None = None) -> None:
        place = (f"--namespace={self.namespace}", f"--kubeconfig={KUBECONFIG}")
        helm = (*inside(), programs.program("helm"), command, self.name, *words, *place)
        run(*helm, stdin=json.dumps(values or {}))
