"""What is installed into the cluster: JobSet and Kueue by their own charts, and the bridge's own kind."""

from __future__ import annotations

from testbed import images
from testbed.control import kubectl
from testbed.places import KUBECONFIG, NODES, PROJECT, node_name
from testbed.programs import binaries, chart
from testbed.shell import inside, run, until

_GPUS = '{"status": {"capacity": {"nvidia.com/gpu": "8"}}}'


def install() -> None:
    """Install all; returns when both controllers are ready. JobSet first: Kueue looks for its kind."""
    kubectl("create", "-f", PROJECT / "api/crds/workloadmixings.yaml")
    _helm("jobset", "", images.JOBSET, "controller.resources.requests.cpu=0")
    manager = "controllerManager.manager."
    _helm("kueue", manager, images.KUEUE, f"{manager}resources.requests.cpu=0")
    until("all nodes are ready", _nodes_ready, seconds=90)
    for node in NODES:
        kubectl("patch", "node", node_name(node), "--subresource=status", "--type=merge", "-p", _GPUS)
    for name in ("kueue", "jobset"):
        until(f"{name} is ready", lambda name=name: _available(name), seconds=120)


def _helm(name: str, prefix: str, image: str, *values: str) -> None:
    """Install a chart; `prefix` is where it keeps the image among its values."""
    repository, _, tag = image.partition(":")
    chosen = {"repository": repository, "tag": tag, "pullPolicy": "IfNotPresent"}
    place = ("--namespace", f"{name}-system", "--create-namespace", "--kubeconfig", str(KUBECONFIG))
    options = [
        *(f"--set-string={prefix}image.{key}={value}" for key, value in chosen.items()),
        *(f"--set={value}" for value in values),
    ]
    run(*inside(), binaries() / "helm", "install", name, chart(name), *place, *options)


def _nodes_ready() -> None:
    kubectl("wait", "node", *map(node_name, NODES), "--for=condition=Ready", "--timeout=1s")


def _available(name: str) -> None:
    kubectl(
        "-n", f"{name}-system", "wait", "deployment", "--all", "--for=condition=Available", "--timeout=2s"
    )
