"""A Kubernetes node: containerd, kubelet and kube-proxy in namespaces of their own.

All of it descends from one process, pid 1 of the node's pid namespace: killing that is pulling the plug.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from k8s_bridge.sandbox.slurm_real.process import marked
from testbed import images, programs
from testbed.control import proxy_options
from testbed.places import (
    DNS,
    HERE,
    KUBECONFIG,
    LOGS,
    NAME,
    RUN,
    SYSTEM,
    node_address,
    node_name,
    node_netns,
    node_pods,
)
from testbed.shell import daemon, run

_CGROUPS = Path("/sys/fs/cgroup")
_CPUS = 16
"""More than the machine has, so that requests of the scenarios fit; nothing enforces that they are used."""
ALONE = {"key": "testbed", "value": "system", "effect": "NoSchedule"}
"""The taint of the node where nobody but Kueue and JobSet runs."""
_BOOT = HERE / "node-boot.sh"


def start(number: int) -> None:
    """Start a node; it registers within some seconds."""
    place = folder(number)
    for path in ("containerd", "kubelet", "cni", "pods"):
        (place / path).mkdir(parents=True, exist_ok=True)
    _write(place / "cni/10-bridge.conflist", _cni(number))
    _write(place / "kubelet.json", _kubelet(number))
    (place / "containerd.toml").write_text(_containerd(place))
    _cpu_list(place / "cpu")
    _cgroups(number)
    isolated = ("unshare", "--mount", "--pid", "--uts", "--fork", "--kill-child", "--propagation", "private")
    settings = (
        f"HOST={node_name(number)}",
        f"PLACE={place}",
        f"BIN={programs.folder()}",
        f"IMAGES={' '.join(map(str, images.archives(number)))}",
        f"KUBECONFIG={KUBECONFIG}",
        f"ADDRESS={node_address(number)}",
        f"LOG={LOGS / node_name(number)}",
        f"PROXY_OPTIONS={' '.join(proxy_options(node_name(number), address='127.0.0.1'))}",
    )
    daemon(node_name(number), "env", *settings, *isolated, "/bin/bash", _BOOT, netns=node_netns(number))


def folder(number: int) -> Path:
    """Everything of a node."""
    return RUN / node_name(number)


def import_image(number: int, archive: Path, *, name: str) -> None:
    """Give a running node one more image, unless it has it: each 100 MB take some seconds."""
    inside = ("nsenter", f"--target={first_process(number)}", "--mount")
    images_of = (*inside, "ctr", "--namespace=k8s.io", "images")
    if not run(*images_of, "list", "--quiet", f"name=={name}"):
        run(*images_of, "import", archive)


def first_process(number: int) -> int:
    """The process id of a node's pid 1. LookupError when the node does not run."""
    for pid in marked(RUN):
        place = Path(f"/proc/{pid}")
        ids = place.joinpath("status").read_text().partition("NSpid:")[2].partition("\n")[0].split()
        words = place.joinpath("environ").read_bytes().split(b"\0")
        if ids[1:] == ["1"] and f"HOST={node_name(number)}".encode() in words:
            return pid
    raise LookupError(f"{node_name(number)} does not run")


def remove_cgroups(name: str = "") -> None:
    """Remove the cgroups of one node or of all, once no process is left in them."""
    for root in _CGROUPS.glob(f"*/{NAME}/{name}".rstrip("/")):
        for path in sorted(root.glob("**/"), reverse=True):
            path.rmdir()


def _cgroups(number: int) -> None:
    """A root for the kubelet's own in each hierarchy; a new cpuset is unusable until it is filled."""
    hierarchies = [path for path in _CGROUPS.iterdir() if path.is_dir() and path.name != "unified"]
    for hierarchy in hierarchies:
        for path in (hierarchy / NAME, hierarchy / NAME / node_name(number)):
            path.mkdir(exist_ok=True)
            for file in ("cpuset.cpus", "cpuset.mems"):
                if (path / file).exists():
                    (path / file).write_text((path.parent / file).read_text())


def _cpu_list(place: Path) -> None:
    """What the kubelet counts as CPUs: sysfs's list, made longer. It counts those that are not online too."""
    for number in range(_CPUS):
        topology = place / f"cpu{number}/topology"
        topology.mkdir(parents=True)
        (topology / "core_id").write_text(f"{number}\n")
        (topology / "physical_package_id").write_text("0\n")
    (place / "online").write_text(Path("/sys/devices/system/cpu/online").read_text())


def _cni(number: int) -> dict[str, Any]:
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": node_pods(number)}]],
            "routes": [{"dst": "0.0.0.0/0"}],
            "dataDir": str(folder(number) / "ipam"),
        },
    }
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]}


def _kubelet(number: int) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": node_address(number),
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{NAME}/{node_name(number)}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "clusterDNS": [DNS],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        # Kueue waits until a Secret that it has just written is in its own volume.
        "syncFrequency": "5s",
        "nodeStatusUpdateFrequency": "3s",
        "podLogsDir": str(folder(number) / "pods"),
        "registerWithTaints": [ALONE] if number == SYSTEM else [],
        "volumePluginDir": str(folder(number) / "plugins"),
        "healthzPort": 0,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
    }


def _containerd(place: Path) -> str:
    return f"""version = 2
root = "{place}/containerd"
state = "/run/containerd"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{images.PAUSE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{place}/cni"
"""


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value))
