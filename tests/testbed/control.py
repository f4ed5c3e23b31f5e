"""etcd and the Kubernetes control plane, in a network namespace of their own."""

from __future__ import annotations

from pathlib import Path

from k8s_bridge.sandbox.slurm_real.process import gone, kill, marked
from testbed.certificates import CA, TOKENS
from testbed.places import AUDIT, CONTROL, HERE, KUBECONFIG, NAME, PKI, PODS, RUN, SERVICES
from testbed.programs import program
from testbed.shell import daemon, inside, run, until

_ETCD = "http://127.0.0.1:2379"
_GONE_WITHIN = 60.0


def start() -> None:
    """Start everything; returns when the API server is ready."""
    start_etcd()
    start_apiserver()
    _component(
        "kube-controller-manager",
        "--leader-elect=false",
        "--allocate-node-cidrs=false",
        "--node-monitor-grace-period=12s",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={PKI / 'sa.key'}",
        f"--root-ca-file={CA}",
    )
    _component("kube-scheduler", "--leader-elect=false")
    # The API server calls webhooks by their Service, so Services must work where it runs.
    daemon("kube-proxy", program("kube-proxy"), *proxy_options(NAME, address="127.0.0.1"))


def start_etcd() -> None:
    """Start etcd, without waiting for disks: nothing here has to outlive a power cut."""
    daemon(
        "etcd",
        program("etcd"),
        f"--data-dir={RUN / 'etcd'}",
        f"--listen-client-urls={_ETCD}",
        f"--advertise-client-urls={_ETCD}",
        "--listen-peer-urls=http://127.0.0.1:2380",
        "--unsafe-no-fsync",
        "--log-level=warn",
    )


def start_apiserver() -> None:
    """Start the API server; returns when it is ready."""
    daemon("kube-apiserver", program("kube-apiserver"), *_APISERVER)
    until("the API server is ready", lambda: kubectl("get", "--raw", "/readyz"), seconds=180)


async def stop_apiserver() -> None:
    """Kill the API server without a word; returns when it is gone, and its port free."""
    for pid in marked(RUN):
        if b"kube-apiserver" in _program_of(pid):
            kill(pid)
            await gone(pid, timeout=_GONE_WITHIN)


def _program_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]


def kubectl(*args: str | Path, stdin: str = "") -> str:
    """The output of kubectl as administrator. Raises Failed."""
    return run(*inside(), program("kubectl"), f"--kubeconfig={KUBECONFIG}", *args, stdin=stdin)


def proxy_options(name: str, *, address: str) -> tuple[str, ...]:
    """Options of kube-proxy. It must leave the host's connection tracking alone."""
    return (
        f"--kubeconfig={KUBECONFIG}",
        f"--hostname-override={name}",
        "--proxy-mode=iptables",
        f"--cluster-cidr={PODS}",
        "--conntrack-max-per-core=0",
        "--conntrack-min=0",
        f"--metrics-bind-address={address}:10249",
        f"--healthz-bind-address={address}:10256",
    )


def _component(name: str, *options: str) -> None:
    kubeconfigs = [f"--{use}kubeconfig={KUBECONFIG}" for use in ("", "authentication-", "authorization-")]
    daemon(name, program(name), "--bind-address=127.0.0.1", *kubeconfigs, *options)


_APISERVER = (
    f"--etcd-servers={_ETCD}",
    f"--bind-address={CONTROL}",
    f"--advertise-address={CONTROL}",
    f"--service-cluster-ip-range={SERVICES}",
    f"--client-ca-file={CA}",
    f"--tls-cert-file={PKI / 'apiserver.crt'}",
    f"--tls-private-key-file={PKI / 'apiserver.key'}",
    f"--token-auth-file={TOKENS}",
    "--authorization-mode=Node,RBAC",
    "--allow-privileged=true",
    # From 1.36 on served by itself: the Ray bridge's policies.
    "--feature-gates=MutatingAdmissionPolicy=true",
    "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
    f"--audit-policy-file={HERE / 'manifests/audit.yaml'}",
    f"--audit-log-path={AUDIT}",
    "--kubelet-preferred-address-types=InternalIP",
    "--service-account-issuer=https://kubernetes.default.svc",
    f"--service-account-signing-key-file={PKI / 'sa.key'}",
    f"--service-account-key-file={PKI / 'sa.pub'}",
    f"--requestheader-client-ca-file={CA}",
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-username-headers=X-Remote-User",
    f"--proxy-client-cert-file={PKI / 'front-proxy-client.crt'}",
    f"--proxy-client-key-file={PKI / 'front-proxy-client.key'}",
    "--enable-aggregator-routing=true",
)
