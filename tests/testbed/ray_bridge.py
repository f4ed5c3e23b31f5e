"""The Ray bridge beside a shared RayCluster: its process, what holds jobs, and the jobs it is given."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import yaml

from k8s_bridge.core.quantity import exact
from k8s_bridge.ray import names
from k8s_bridge.ray.policies import policies
from k8s_bridge.sandbox.slurm_real.network import free_port
from testbed import chart, images, ray_cluster
from testbed.certificates import write_kubeconfig
from testbed.control import kubectl
from testbed.ray_cluster import NAME, NAMESPACE, RayCluster
from testbed.shell import Failed, say, until

MIXING = "ray"
LOW, HIGH = "ray-low", "ray-high"
_CLASSES = {LOW: 100, HIGH: 10_000}
VALUES = {
    "slurmBridge": {"enabled": False},
    "rayBridge": {"enabled": True, "namespaces": [NAMESPACE], "admission": "none"},
}
ACCOUNT = "k8s-bridge-ray"
_UP_WITHIN = 30.0
QUICK = 'python3 -c "import ray; ray.init(); print(ray.get(ray.remote(lambda: 42).remote()))"'


def mixing(**ray: Any) -> dict[str, Any]:
    """A WorkloadMixing whose Slurm nobody serves here."""
    section = {
        "localQueue": "ray",
        "managedClusters": [{"name": NAME}],
        "poolMappings": [
            {"pool": "default", "workloadPriorityClass": LOW, "maxWorkers": 4},
            {"pool": "urgent", "workloadPriorityClass": HIGH},
        ],
        "worker": {"defaultMemoryMB": 1024, "defaultCpus": 0.7},
    }
    return {
        "apiVersion": "k8s-bridge.x-k8s.io/v1alpha1",
        "kind": "WorkloadMixing",
        "metadata": {"name": MIXING, "namespace": NAMESPACE},
        "spec": {
            "slurmRestURL": "http://127.0.0.1:1",
            "allowInsecureHTTP": True,
            "slurmUser": "root",
            "slurmTokenFile": "/dev/null",
            "localQueue": "ray",
            "partitionMappings": [{"partitionName": "none", "workloadPriorityClass": LOW}],
            "slurmd": {"image": "none", "confServer": "none:1", "authSecretName": "none"},
            "ray": section | ray,
        },
    }


@dataclass(slots=True)
class Bridge:
    """`k8s-bridge run ray` as a process of its own."""

    log: Path
    kubeconfig: Path
    cluster: RayCluster
    port: int = field(default_factory=free_port)
    _popen: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it is ready."""
        argv = (
            sys.executable, "-m", "k8s_bridge.cli.main", "run", "ray",
            f"--kubeconfig={self.kubeconfig}", f"--namespace={NAMESPACE}",
            f"--lease-name={ACCOUNT}-leader",
            f"--http=127.0.0.1:{self.port}", "--log-format=json", "--allow-insecure-tls",
        )  # fmt: skip
        with self.log.open("ab") as out:
            self._popen = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        until("the Ray bridge is ready", self._ready, seconds=_UP_WITHIN)

    def kill(self) -> None:
        """SIGKILL: it gets no chance to say goodbye."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """SIGTERM."""
        self._end(signal.SIGTERM)

    def states(self) -> dict[str, str]:
        """The state of each job that it knows, by name."""
        rows = httpx.get(f"http://127.0.0.1:{self.port}/debug/units").raise_for_status().json()
        return {row["name"].partition("/")[2]: row["state"] for row in rows}

    def last_words(self) -> str:
        """The end of its log."""
        return self.log.read_text()[-4_000:]

    def _end(self, number: signal.Signals) -> None:
        if self._popen is not None:
            os.kill(self._popen.pid, number)
            self._popen.wait(timeout=20)
            self._popen = None

    def _ready(self) -> None:
        try:
            httpx.get(f"http://127.0.0.1:{self.port}/readyz").raise_for_status()
        except httpx.HTTPError as error:
            raise Failed(f"{error}\n{self.last_words()}") from error


@contextmanager
def policies_in_force() -> Iterator[None]:
    """The admission policies, while the block lasts."""
    text = yaml.safe_dump_all(policies(prefix="ray-bridge", mutating="v1beta1"))
    kubectl("apply", "-f", "-", stdin=text)
    try:
        yield
    finally:
        kubectl("delete", "-f", "-", "--ignore-not-found", "--timeout=60s", stdin=text)


@contextmanager
def running(
    log: Path,
    *,
    held: Callable[[], AbstractContextManager[None]] = policies_in_force,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Bridge]:
    """All that a bridge needs, and the bridge; afterwards nothing of it is left."""
    rights = chart.rights(VALUES, namespace=NAMESPACE)
    with beside_a_cluster(held=held, objects=rights, environment=environment) as cluster:
        kubeconfig = log.with_name("kubeconfig")
        token = kubectl("-n", NAMESPACE, "create", "token", ACCOUNT, "--duration=24h")
        write_kubeconfig(kubeconfig, token=token.strip(), namespace=NAMESPACE)
        bridge = Bridge(log, kubeconfig, cluster)
        try:
            bridge.start()
            yield bridge
        finally:
            bridge.stop()
            say(bridge.last_words())


@contextmanager
def beside_a_cluster(
    *,
    held: Callable[[], AbstractContextManager[None]],
    objects: Iterable[Mapping[str, Any]] = (),
    environment: Mapping[str, str] = MappingProxyType({}),
    **ray: Any,
) -> Iterator[RayCluster]:
    """The shared cluster, what holds jobs, and a WorkloadMixing; afterwards nothing of it is left.

    `objects` are there besides; `environment` is the shared head's.
    """
    with ray_cluster.running(**environment) as cluster, held():
        kubectl("label", "namespace", NAMESPACE, f"{names.MANAGED_NAMESPACE}=true", "--overwrite")
        text = yaml.safe_dump_all([*objects, *_classes(), mixing(**ray)])
        kubectl("apply", "-f", "-", stdin=text)
        try:
            _await_admission()
            yield cluster
        finally:
            # KubeRay lets a job go quickly only while the cluster that it runs in is there.
            kubectl("-n", NAMESPACE, "delete", "rayjobs", "--all", "--timeout=60s")
            kubectl("delete", "-f", "-", "--ignore-not-found", "--timeout=60s", stdin=text)


def submit(
    name: str, entrypoint: str = QUICK, *, notes: Mapping[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    """Create an inner RayJob; `notes` are annotations of the bridge without their prefix. Raises Failed."""
    job = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "annotations": {f"{names.PREFIX}/{key}": value for key, value in (notes or {}).items()},
        },
        "spec": {"clusterSelector": {names.CLUSTER_SELECTOR: NAME}, "entrypoint": entrypoint} | spec,
    }
    return dict(json.loads(kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(job))))


def submit_plain(name: str, *, cpu: str, seconds: float, priority: str) -> None:
    """Create a Kubernetes Job that Kueue admits in the same queue."""
    container = {
        "name": "main",
        "image": images.BUSYBOX,
        "command": ["sh", "-c", f"sleep {seconds}"],
        "resources": {"requests": {"cpu": cpu}},
    }
    labels = {"kueue.x-k8s.io/queue-name": "ray", "kueue.x-k8s.io/priority-class": priority}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    plain = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {"suspend": True, "ttlSecondsAfterFinished": 60, "template": template},
    }
    kubectl("create", "-f", "-", stdin=json.dumps(plain))


def notes(name: str) -> dict[str, str]:
    """The bridge's annotations of a RayJob, without their prefix."""
    found = job(name)["metadata"].get("annotations", {})
    return {key.split("/")[1]: value for key, value in found.items() if key.startswith(names.PREFIX)}


def job(name: str) -> dict[str, Any]:
    """A RayJob as it is now."""
    return ray_cluster.get("rayjob", name)


def status(name: str) -> str:
    """Ray's word about it."""
    return str(job(name).get("status", {}).get("jobStatus", ""))


def items(kind: str) -> list[dict[str, Any]]:
    """All objects of a kind in the cluster's namespace."""
    return list(json.loads(kubectl("-n", NAMESPACE, "get", kind, "-o", "json"))["items"])


def all_given_back() -> bool:
    """Whether no worker is left, and Kueue counts as used what the shared cluster alone has."""
    (flavor,) = ray_cluster.get("clusterqueue", "ray")["status"]["flavorsUsage"]
    used = {each["name"]: exact(each["total"]) for each in flavor["resources"] if exact(each["total"])}
    return used == _of_the_cluster() and not items("jobsets")


def _of_the_cluster() -> dict[str, Fraction]:
    owned = (w for w in items("workloads") if w["metadata"]["ownerReferences"][0]["kind"] == "RayCluster")
    used = defaultdict[str, Fraction](Fraction)
    for pod_set in next(owned)["status"]["admission"]["podSetAssignments"]:
        for name, amount in pod_set["resourceUsage"].items():
            used[name] += exact(amount)
    return {name: amount for name, amount in used.items() if amount}


def wait(what: str, holds: Callable[[], object], *, seconds: float = 400.0) -> None:
    """Wait until `holds()` is true. Raises Failed."""

    def ready() -> None:
        if not holds():
            raise Failed(what)

    until(what, ready, seconds=seconds, pause=0.5)


def _classes() -> Iterator[dict[str, Any]]:
    for name, value in _CLASSES.items():
        yield {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": name},
            "value": value,
        }


def _await_admission() -> None:
    """The API server takes a moment to act on what is new: until then a bad job would be let in."""

    def refused() -> None:
        try:
            submit("probe", backoffLimit=1)
        except Failed:
            return
        kubectl("-n", NAMESPACE, "delete", "rayjob", "probe", "--wait=false")
        raise Failed("a bad job was let in")

    until("bad jobs are refused", refused, seconds=60)
