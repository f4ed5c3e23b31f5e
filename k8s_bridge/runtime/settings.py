"""Everything that is set when the process starts and never changes after. From options or environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from k8s_bridge.runtime.gates import Gates
from k8s_bridge.runtime.product import SLURM, Product

LEASE_NAME = SLURM.lease
HTTP_PORT = 8080


class LogFormat(StrEnum):
    """How log lines look."""

    AUTO = "auto"
    """Console on a terminal, JSON elsewhere."""
    JSON = "json"
    CONSOLE = "console"


class Election(StrEnum):
    """Whether instances take turns."""

    LEASE = "lease"
    NONE = "none"
    """A single instance by other means; two of them would write against each other."""


class SettingsError(ValueError):
    """Options that do not go together. `option` is the one to change."""

    def __init__(self, option: str, text: str) -> None:
        super().__init__(f"{option}: {text}")
        self.option = option


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """Where the HTTP server listens; port 0 takes any free one."""

    host: str = "127.0.0.1"
    port: int = HTTP_PORT

    @classmethod
    def parse(cls, text: str) -> Bind:
        """`host:port`, `[v6]:port` or `:port` (all addresses). SettingsError otherwise."""
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65_535:  # noqa: PLR2004 - the largest port
            raise SettingsError("--http", f"{text!r} is not host:port; write for example 0.0.0.0:8080")
        return cls(host=host.strip("[]") or "0.0.0.0", port=int(port))  # noqa: S104 - asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Deploy-time settings of `k8s-bridge run`. SettingsError at construction when they contradict."""

    product: Product = SLURM
    """Which bridge this is."""
    kubeconfig: Path | None = None
    """None: KUBECONFIG, then the pod's service account, then ~/.kube/config."""
    context: str = ""
    """Context of the kubeconfig; "" is its current one."""
    namespaces: tuple[str, ...] = ()
    """Namespaces whose WorkloadMixings are served; () is the instance's own."""
    workloadmixing: str = ""
    """`namespace/name`: this one only."""
    config: Path | None = None
    """A file with one WorkloadMixing in place of the custom resources."""
    election: Election = Election.LEASE
    lease_name: str = ""
    """"" is the product's own."""
    lease_namespace: str = ""
    """"" is the instance's own namespace."""
    http: Bind = Bind()
    http_token: Path | None = None
    """File with the token that shows the status page from anywhere; None: over loopback only."""
    log_level: str = "info"
    log_format: LogFormat = LogFormat.AUTO
    workers: int = 8
    """Units of one WorkloadMixing that are worked on at a time."""
    gates: Gates = field(default_factory=Gates)

    def __post_init__(self) -> None:
        if self.workloadmixing and self.config is not None:
            raise SettingsError("--config", "give either --config or --workloadmixing, not both")
        namespace, slash, name = self.workloadmixing.partition("/")
        if self.workloadmixing and not (slash and namespace and name and "/" not in name):
            raise SettingsError(
                "--workloadmixing",
                f"{self.workloadmixing!r} is not namespace/name; write for example hpc/main",
            )
