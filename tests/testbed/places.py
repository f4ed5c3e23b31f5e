"""Names, addresses and folders of a testbed. A machine can have several: KB_TESTBED names another one."""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = HERE.parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "k8s-bridge/testbed"
NAME = os.environ.get("KB_TESTBED") or "kb-testbed"
"""Network namespace of the control plane, and prefix of all other names."""
RUN = CACHE / "run" / NAME
"""Everything of the running testbed: configuration, data, logs."""
LOGS = RUN / "log"
AUDIT = LOGS / "audit.log"
"""Every request of the bridge to the API server."""
PKI = RUN / "pki"
KUBECONFIG = RUN / "kubeconfig"
"""Of a cluster administrator; works in the control plane's network namespace."""

NETNS = Path("/run/netns")
CONTROL = "10.77.1.1"
API = f"https://{CONTROL}:6443"
SERVICES = "10.96.0.0/16"
DNS = "10.96.0.10"
PODS = "10.88.0.0/16"
SYSTEM = 0
"""The node of Kueue and JobSet: losing another one must not take them along."""
WORKERS = (1, 2)
NODES = (SYSTEM, *WORKERS)


def node_name(number: int) -> str:
    """Of a Kubernetes node."""
    return "system" if number == SYSTEM else f"node{number}"


def node_netns(number: int) -> str:
    """Network namespace of a node."""
    return f"{NAME}-n{number}"


def node_address(number: int) -> str:
    """Of a node on the fabric."""
    return f"10.77.1.{10 + number}"


def node_pods(number: int) -> str:
    """The range of a node's pods."""
    return f"10.88.{number}.0/24"
