"""A network namespace for the control plane, one for each node, and a bridge between them."""

from __future__ import annotations

from testbed.places import CONTROL, NAME, NETNS, NODES, node_address, node_netns, node_pods
from testbed.shell import inside, run

_FABRIC = "fabric"


def create() -> None:
    """Make all namespaces, and the routes between the pods of all nodes."""
    _namespace(NAME)
    _ip(NAME, "link", "add", _FABRIC, "type", "bridge")
    _up(NAME, _FABRIC, CONTROL)
    for node in NODES:
        _node(node)


def delete() -> None:
    """Remove those that are there; links and bridges go with them."""
    for name in (*map(node_netns, NODES), NAME):
        if (NETNS / name).exists():
            run("ip", "netns", "delete", name)


def _node(node: int) -> None:
    name, link = node_netns(node), f"node{node}"
    _namespace(name)
    _ip(NAME, "link", "add", link, "master", _FABRIC, "type", "veth", "peer", "eth0", "netns", name)
    _ip(NAME, "link", "set", link, "up")
    _up(name, "eth0", node_address(node))
    _ip(name, "route", "add", "default", "via", CONTROL)
    for other in NODES:
        if other != node:
            _ip(name, "route", "add", node_pods(other), "via", node_address(other))
    _ip(NAME, "route", "add", node_pods(node), "via", node_address(node))


def _namespace(name: str) -> None:
    run("ip", "netns", "add", name)
    _ip(name, "link", "set", "lo", "up")
    run(*inside(name), "sysctl", "-qw", "net.ipv4.ip_forward=1")


def _up(netns: str, link: str, address: str) -> None:
    _ip(netns, "address", "add", f"{address}/24", "dev", link)
    _ip(netns, "link", "set", link, "up")


def _ip(netns: str, *args: str) -> None:
    run("ip", "-n", netns, *args)
