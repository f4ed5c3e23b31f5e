"""Reads kubeconfig files: clusters, users and contexts, merged as kubectl merges them."""

from __future__ import annotations

import base64
import binascii
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from k8s_bridge.core.errors import Terminal
from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.kube.credentials import (
    Credentials,
    ExecPlugin,
    StaticToken,
    TokenFile,
    load_client_certificate,
)


class _Kebab(msgspec.Struct, frozen=True, rename="kebab", kw_only=True):
    """Base: keys-with-dashes, as kubeconfig has them."""


class Cluster(_Kebab, frozen=True):
    """clusters[].cluster."""

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class EnvVar(msgspec.Struct, frozen=True):
    """users[].user.exec.env[]."""

    name: str
    value: str


class Exec(msgspec.Struct, frozen=True, rename="camel"):
    """users[].user.exec."""

    command: str
    api_version: str
    args: tuple[str, ...] | None = None
    env: tuple[EnvVar, ...] | None = None


class User(_Kebab, frozen=True):
    """users[].user."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    exec: Exec | None = None
    username: str = ""
    auth_provider: dict[str, Any] | None = None


class Context(msgspec.Struct, frozen=True):
    """contexts[].context."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _Named(msgspec.Struct, frozen=True):
    name: str
    cluster: dict[str, Any] | None = None
    user: dict[str, Any] | None = None
    context: dict[str, Any] | None = None


class _File(_Kebab, frozen=True):
    current_context: str | None = None
    clusters: tuple[_Named, ...] | None = None
    users: tuple[_Named, ...] | None = None
    contexts: tuple[_Named, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Entry:
    """A named entry and the folder that its relative paths start from."""

    value: dict[str, Any]
    folder: Path


@dataclass(frozen=True, slots=True)
class _Merged:
    clusters: dict[str, _Entry]
    users: dict[str, _Entry]
    contexts: dict[str, _Entry]
    current: str


def read(paths: str, *, context: str = "", environ: Mapping[str, str]) -> ApiServer:
    """The API server of a context in the files `paths` (joined by ":"); else Terminal("Kubeconfig")."""
    try:
        return _read(paths, context=context, environ=environ)
    except (OSError, yaml.YAMLError, msgspec.ValidationError, binascii.Error, ssl.SSLError) as error:
        raise Terminal(f"kubeconfig {paths}: {error}", reason="Kubeconfig") from error


def _read(paths: str, *, context: str, environ: Mapping[str, str]) -> ApiServer:
    merged = _merge(paths)
    chosen = msgspec.convert(_pick(merged.contexts, context or merged.current, "context").value, Context)
    place = _pick(merged.clusters, chosen.cluster, "cluster")
    cluster = msgspec.convert(place.value, Cluster)
    if not cluster.server:
        raise Terminal(f"kubeconfig: cluster {chosen.cluster!r} has no server", reason="Kubeconfig")
    who = _pick(merged.users, chosen.user, "user") if chosen.user else _Entry({}, place.folder)
    user = msgspec.convert(who.value, User)
    tls = _tls(cluster, folder=place.folder)
    _load_certificate(tls, user, folder=who.folder)
    return ApiServer(
        base_url=cluster.server.rstrip("/"),
        tls=tls,
        credentials=_credentials(user, tls=tls, folder=who.folder, environ=environ),
        namespace=chosen.namespace or "default",
        proxy=cluster.proxy_url,
        server_name=cluster.tls_server_name,
    )


def _merge(paths: str) -> _Merged:
    """The first file that has a name, or a current context, wins; files that are not there are skipped."""
    candidates = [Path(part).expanduser() for part in paths.split(":") if part]
    found = [path for path in candidates if path.exists()]
    if not found:
        raise Terminal(f"no kubeconfig at {paths}", reason="Kubeconfig")
    clusters: dict[str, _Entry] = {}
    users: dict[str, _Entry] = {}
    contexts: dict[str, _Entry] = {}
    current = ""
    for path in found:
        file = msgspec.convert(yaml.safe_load(path.read_text()) or {}, _File)
        current = current or file.current_context or ""
        for item in file.clusters or ():
            clusters.setdefault(item.name, _Entry(item.cluster or {}, path.parent))
        for item in file.users or ():
            users.setdefault(item.name, _Entry(item.user or {}, path.parent))
        for item in file.contexts or ():
            contexts.setdefault(item.name, _Entry(item.context or {}, path.parent))
    return _Merged(clusters, users, contexts, current)


def _pick(entries: Mapping[str, _Entry], name: str, kind: str) -> _Entry:
    if name not in entries:
        raise Terminal(f"kubeconfig has no {kind} {name!r}", reason="Kubeconfig")
    return entries[name]


def _tls(cluster: Cluster, *, folder: Path) -> ssl.SSLContext:
    if cluster.insecure_skip_tls_verify or cluster.server.startswith("http:"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    authority = _pem(cluster.certificate_authority_data, cluster.certificate_authority, folder=folder)
    return ssl.create_default_context(cadata=authority or None)


def _load_certificate(tls: ssl.SSLContext, user: User, *, folder: Path) -> None:
    certificate = _pem(user.client_certificate_data, user.client_certificate, folder=folder)
    key = _pem(user.client_key_data, user.client_key, folder=folder)
    if certificate:
        load_client_certificate(tls, certificate, key)


def _pem(data: str, path: str, *, folder: Path) -> str:
    """Inline data goes before a file, as with kubectl."""
    if data:
        return base64.b64decode(data, validate=True).decode()
    return (folder / path).read_text() if path else ""


def _credentials(user: User, *, tls: ssl.SSLContext, folder: Path, environ: Mapping[str, str]) -> Credentials:
    if user.token_file:
        return TokenFile(folder / user.token_file)
    if user.token:
        return StaticToken(user.token)
    if user.exec:
        return _plugin(user.exec, tls=tls, folder=folder, environ=environ)
    if user.username or user.auth_provider:
        raise Terminal(
            "kubeconfig: passwords and auth-provider are gone from Kubernetes", reason="Kubeconfig"
        )
    return StaticToken()


def _plugin(spec: Exec, *, tls: ssl.SSLContext, folder: Path, environ: Mapping[str, str]) -> ExecPlugin:
    # as with kubectl: a bare name is looked up in PATH, a relative path starts from the file
    command = str(folder / spec.command) if "/" in spec.command else spec.command
    extra = {item.name: item.value for item in spec.env or ()}
    return ExecPlugin(
        (command, *(spec.args or ())), environ={**environ, **extra}, api_version=spec.api_version, tls=tls
    )
