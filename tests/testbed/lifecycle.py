"""Brings the testbed up and takes it down."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections import Counter
from pathlib import Path

from k8s_bridge.sandbox.slurm_real import rootfs
from k8s_bridge.sandbox.slurm_real.process import end_marked
from k8s_bridge.sandbox.slurm_real.release import RELEASES, prepare
from testbed import bridge_image, certificates, control, images, install, network, node, programs, sysctls
from testbed.locks import lock
from testbed.places import KUBECONFIG, LOGS, NAME, NETNS, NODES, RUN
from testbed.shell import Failed, running, say

_PROGRAMS = {
    "containerd": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "busybox": "busybox-static",
    "openssl": "openssl",
    "ip": "iproute2",
}
_CNI = Path("/usr/lib/cni/bridge")
_DAEMONS = Counter(
    {
        "etcd": 1,
        "kube-apiserver": 1,
        "kube-controller-manager": 1,
        "kube-scheduler": 1,
        "kube-proxy": 1 + len(NODES),
        "containerd": len(NODES),
        "kubelet": len(NODES),
    }
)
_READY = RUN / "ready"
_HINTS = f"""The testbed is up.
  export KUBECONFIG={KUBECONFIG}
  nsenter --net=/run/netns/{NAME} {{kubectl}} get pods -A
  logs: {LOGS}
  make testbed-test, make testbed-down"""


def prepare_all() -> None:
    """Fetch and build everything that is missing; nothing runs yet. Raises Failed."""
    if os.geteuid() != 0:
        raise Failed("the testbed needs root: it makes namespaces and cgroups")
    _packages()
    prepare(RELEASES["24.11"])
    programs.build()
    images.build()
    bridge_image.build()


def up() -> None:
    """Bring it up, over the ruins of an earlier one as well; one that is whole stays. Raises Failed."""
    prepare_all()
    with lock(NAME):
        if is_up() and running() >= _DAEMONS:
            install.define()
        else:
            _down()
            _start()
    say(_HINTS.format(kubectl=programs.program("kubectl")))


def down() -> None:
    """End everything that `up` started and remove what it made, but for the cache."""
    with lock(NAME):
        _down()


def is_up() -> bool:
    """Whether a testbed came up completely and its API server answers."""
    try:
        return _READY.exists() and control.kubectl("get", "--raw", "/readyz") == "ok"
    except Failed:
        return False


def is_here() -> bool:
    """Whether a testbed is up and this process is in its control plane's network."""
    return is_up() and Path("/proc/self/ns/net").stat().st_ino == (NETNS / NAME).stat().st_ino


def _start() -> None:
    LOGS.mkdir(parents=True)
    sysctls.keep()
    certificates.make()
    network.create()
    say("starting the control plane")
    control.start()
    say("starting the nodes")
    for number in NODES:
        node.start(number)
    say("installing DNS, JobSet, KubeRay and Kueue")
    install.install()
    _READY.touch()


def _down() -> None:
    asyncio.run(end_marked(RUN))
    network.delete()
    node.remove_cgroups()
    sysctls.restore()
    shutil.rmtree(RUN, ignore_errors=True)


def _packages() -> None:
    if missing := _missing():
        with lock("packages"):
            say(f"installing {', '.join(missing)}")
            rootfs.apt("install", "--yes", "--no-install-recommends", *missing)


def _missing() -> list[str]:
    missing = [package for program, package in _PROGRAMS.items() if not shutil.which(program)]
    return missing if _CNI.exists() else [*missing, "containernetworking-plugins"]
