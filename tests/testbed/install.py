"""What is installed into the cluster: JobSet and Kueue by their own charts, and the bridge's own kind."""

from __future__ import annotations

from testbed import images
from testbed.control import kubectl
from testbed.places import KUBECONFIG, NODES, PROJECT, SYSTEM, WORKERS, node_name
from testbed.programs import binaries, chart
from testbed.shell import inside, run, until

_GPUS = '{"status": {"capacity": {"nvidia.com/gpu": "8"}}}'


def install() -> None:
    """Install all; returns when both controllers are ready. JobSet first: Kueue looks for its kind."""
    kubectl("create", "-f", PROJECT / "api/crds/workloadmixings.yaml")
    _helm("jobset", "", images.JOBSET, "controller")
    _helm("kueue", "controllerManager.manager.", images.KUEUE, "controllerManager")
    until("all nodes are ready", wait_for_nodes, seconds=90)
    for node in WORKERS:
        kubectl("patch", "node", node_name(node), "--subresource=status", "--type=merge", "-p", _GPUS)
    for name in ("kueue", "jobset"):
        until(f"{name} is ready", lambda name=name: _available(name), seconds=120)


def _helm(name: str, prefix: str, image: str, pod: str) -> None:
    """Install a chart; `prefix`: where its values keep the image; `pod`: where its pods' traits."""
    repository, _, tag = image.partition(":")
    values = {
        f"{prefix}image.repository": repository,
        f"{prefix}image.tag": tag,
        f"{prefix}image.pullPolicy": "IfNotPresent",
        f"{pod}.tolerations[0].operator": "Exists",
        f"{pod}.nodeSelector.kubernetes\\.io/hostname": node_name(SYSTEM),
    }
    place = ("--namespace", f"{name}-system", "--create-namespace", "--kubeconfig", str(KUBECONFIG))
    options = [f"--set-string={key}={value}" for key, value in values.items()]
    run(*inside(), binaries() / "helm", "install", name, chart(name), *place, *options)


def wait_for_nodes() -> None:
    """Failed unless all nodes are ready."""
    kubectl("wait", "node", *map(node_name, NODES), "--for=condition=Ready", "--timeout=1s")


def _available(name: str) -> None:
    kubectl(
        "-n", f"{name}-system", "wait", "deployment", "--all", "--for=condition=Available", "--timeout=2s"
    )
