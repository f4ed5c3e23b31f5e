"""For releases whose slurmds cannot share an address: a bridge, and an address of its own for each slurmd."""

from __future__ import annotations

import hashlib
import ipaddress
import itertools
import random
import socket
import subprocess
from pathlib import Path

_BENCHMARKING = ipaddress.ip_network("198.18.0.0/15")
"""Set aside for tests by RFC 2544: no real network is there."""
_PORTS = (10_000, 32_767)
"""Below the range that the kernel hands out to clients."""


class Bridge:
    """One bridge of the host; its name follows from the directory, so that ruins are found again."""

    def __init__(self, directory: Path) -> None:
        digest = hashlib.sha256(str(directory).encode()).hexdigest()
        self.name = f"kb{digest[:8]}"
        self._links = itertools.count(1)
        self._network = _free_network()

    @property
    def address(self) -> str:
        """The host's own address on the bridge."""
        return str(self._network[1])

    def create(self) -> None:
        """Make the bridge, after removing one that an earlier run of the same directory left."""
        self.delete()
        _ip("link", "add", self.name, "type", "bridge")
        _ip("addr", "add", f"{self.address}/24", "dev", self.name)
        _ip("link", "set", self.name, "up")

    def delete(self) -> None:
        """Remove the bridge when it is there."""
        if Path(f"/sys/class/net/{self.name}").exists():
            _ip("link", "delete", self.name)

    def next_port(self) -> tuple[str, str]:
        """(name of the host's end of a link, address/prefix of the other end) for the next slurmd."""
        number = next(self._links)
        return f"{self.name}v{number}", f"{self._network[number + 1]}/24"


def free_port() -> int:
    """A TCP port of loopback that nothing listens on."""
    while True:
        port = random.randint(*_PORTS)  # noqa: S311 - nothing secret about a port
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port


def _free_network() -> ipaddress.IPv4Network:
    taken = _ip("-o", "-4", "addr")
    networks = [net for net in _BENCHMARKING.subnets(new_prefix=24) if f" {net[1]}/" not in taken]
    return random.choice(networks)  # type: ignore[return-value]  # noqa: S311 - the same


def _ip(*args: str) -> str:
    done = subprocess.run(["ip", *args], capture_output=True, text=True, check=True)  # noqa: S603, S607 - the host's ip
    return done.stdout
