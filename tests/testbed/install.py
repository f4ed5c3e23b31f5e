"""What is installed: JobSet and Kueue by charts, KubeRay and DNS by manifests, and the bridge's own kind."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from testbed import images, programs
from testbed.control import kubectl
from testbed.places import HERE, KUBECONFIG, NODES, PROJECT, RUN, SYSTEM, WORKERS, node_name
from testbed.shell import inside, run, until

_GPUS = '{"status": {"capacity": {"nvidia.com/gpu": "8"}}}'
_NAMESPACES = ("kube-system", "jobset-system", "kuberay-system", "kueue-system")
_ON_SYSTEM = {
    "nodeSelector": {"kubernetes.io/hostname": node_name(SYSTEM)},
    "tolerations": [{"operator": "Exists"}],
}


def install() -> None:
    """Install all; returns when all of it is ready. Kueue comes last: it looks for the others' kinds."""
    define()
    kubectl("create", "-f", HERE / "manifests/dns.yaml")
    with ThreadPoolExecutor() as at_once:
        parts = at_once.submit(_helm, "jobset", "", "controller"), at_once.submit(_kuberay)
    for part in parts:
        part.result()
    _helm("kueue", "controllerManager.manager.", "controllerManager")
    until("all nodes are ready", wait_for_nodes, seconds=180)
    for node in WORKERS:
        kubectl("patch", "node", node_name(node), "--subresource=status", "--type=merge", "-p", _GPUS)
    for namespace in _NAMESPACES:
        until(f"{namespace} is ready", lambda namespace=namespace: _available(namespace), seconds=300)


def define() -> None:
    """Have the bridge's own kind as this source defines it."""
    kubectl("apply", "--server-side", "--force-conflicts", "-f", PROJECT / "api/crds/workloadmixings.yaml")


def _helm(name: str, prefix: str, pod: str) -> None:
    """Install a chart; `prefix`: where its values keep the image; `pod`: where its pods' traits."""
    repository, _, tag = images.controller(name).name.partition(":")
    values = {
        f"{prefix}image.repository": repository,
        f"{prefix}image.tag": tag,
        f"{prefix}image.pullPolicy": "IfNotPresent",
        f"{pod}.tolerations[0].operator": "Exists",
        f"{pod}.nodeSelector.kubernetes\\.io/hostname": node_name(SYSTEM),
    }
    module = name if name == "jobset" else "kube"
    chart = programs.source(f"sigs.k8s.io/{name}", module=module) / "charts" / name
    place = ("--namespace", f"{name}-system", "--create-namespace", "--kubeconfig", str(KUBECONFIG))
    options = [f"--set-string={key}={value}" for key, value in values.items()]
    run(*inside(), programs.program("helm"), "install", name, chart, *place, *options)


def _kuberay() -> None:
    """KubeRay by its own manifests, in our image and place."""
    package = "github.com/ray-project/kuberay/ray-operator"
    manifests, overlay = programs.source(package, module="kuberay") / "config", RUN / "kuberay"
    overlay.mkdir()
    parts = [os.path.relpath(manifests / part, overlay) for part in ("rbac", "manager")]
    (overlay / "kustomization.yaml").write_text(json.dumps(_overlay(parts)))
    # Its kinds are megabytes of text: kustomize would chew on them for seconds.
    kubectl("create", "-f", manifests / "crd/bases")
    kubectl("create", "namespace", "kuberay-system")
    kubectl("create", "-k", overlay)


def _overlay(parts: list[str]) -> dict[str, Any]:
    """What is ours in it. Within its own limit of 0.1 CPU the operator would crawl."""
    name, _, tag = images.controller("kuberay").name.partition(":")
    container = {"name": "kuberay-operator", "resources": {"$patch": "replace"}}
    patch = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "kuberay-operator"},
        "spec": {"template": {"spec": _ON_SYSTEM | {"containers": [container]}}},
    }
    return {
        "namespace": "kuberay-system",
        "resources": parts,
        "images": [{"name": "kuberay/operator", "newName": name, "newTag": tag}],
        "patches": [{"target": {"kind": "Deployment"}, "patch": json.dumps(patch)}],
    }


def wait_for_nodes() -> None:
    """Failed unless all nodes are ready."""
    kubectl("wait", "node", *map(node_name, NODES), "--for=condition=Ready", "--timeout=10s")


def _available(namespace: str) -> None:
    kubectl("-n", namespace, "wait", "deployment", "--all", "--for=condition=Available", "--timeout=2s")
