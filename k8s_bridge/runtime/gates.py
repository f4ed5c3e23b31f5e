"""What the platform's admin allows at deploy time, checked against each WorkloadMixing. Pure.

Gates apply to every revision, also to a reload: an edit cannot get past what creation could not. An empty
list allows everything of its kind; insecure TLS is refused unless it is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from api.problems import Problem
from api.v1alpha1 import WorkloadMixing, WorkloadMixingSpec
from k8s_bridge.runtime.images import BadImage, parse_image, parse_rule

_PORTS = {"https": 443, "http": 80}
_TEMPLATE_MARKS = ("{{", "{%", "{#")
_ODD_IN_URL = frozenset("@\\")


class Transport(StrEnum):
    """How slurmrestd may be reached."""

    VERIFIED = "verified"
    """TLS with a certificate that is checked."""
    INSECURE = "insecure"
    """Also plain HTTP, and certificates that are not checked. For development."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """The platform's limits. ValueError at construction when a rule cannot be read."""

    images: tuple[str, ...] = ()
    """`registry/path/` (all below), `registry/repository`, `…:tag` or `…@sha256:…`."""
    token_paths: tuple[str, ...] = ()
    """Absolute folders or files that slurmTokenFile may lie in or be."""
    slurm_hosts: tuple[str, ...] = ()
    """`host` (any port), `host:port` or `*.domain`."""
    transport: Transport = Transport.VERIFIED

    def __post_init__(self) -> None:
        for rule in self.images:
            parse_rule(rule)
        for path in self.token_paths:
            if not _clean(path):
                raise ValueError(f"token path {path!r} must be absolute and without ..")


def problems(mixing: WorkloadMixing, gates: Gates) -> tuple[Problem, ...]:
    """Everything in `mixing` that the platform does not allow; () when it may run."""
    spec = mixing.spec
    if not spec.has_slurm:
        return ()
    return (
        *_images(spec, gates),
        *_token_file(spec, gates),
        *_host(spec, gates),
        *_transport(spec, gates),
    )


def _images(spec: WorkloadMixingSpec, gates: Gates) -> Iterator[Problem]:
    if not gates.images:
        return
    yield from _image("spec.slurmd.image", spec.slurmd.image, gates)
    for index, mapping in enumerate(spec.partition_mappings):
        where = f"spec.partitionMappings[{index}].podTemplate"
        for path, image in _images_in(mapping.pod_template, where):
            yield from _image(path, image, gates)


def _image(path: str, text: str, gates: Gates) -> Iterator[Problem]:
    fix = f"use an image within: {', '.join(gates.images)}"
    if any(mark in text for mark in _TEMPLATE_MARKS):
        yield Problem(path=path, why="is a template, and the platform limits images", fix=fix)
        return
    try:
        image = parse_image(text)
    except BadImage as error:
        yield Problem(path=path, why=str(error), fix=fix)
        return
    if not any(parse_rule(rule).allows(image) for rule in gates.images):
        yield Problem(path=path, why=f"{text} is not an image that the platform allows", fix=fix)


def _images_in(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every image in a pod template: of containers of all kinds, and of image volumes."""
    match value:
        case dict():
            for key, inner in value.items():
                match key, inner:
                    case ("image", str()):
                        yield f"{path}.image", inner
                    case ("image", {"reference": str(reference)}):
                        yield f"{path}.image.reference", reference
                    case _:
                        yield from _images_in(inner, f"{path}.{key}")
        case list() | tuple():
            for index, inner in enumerate(value):
                yield from _images_in(inner, f"{path}[{index}]")


def _token_file(spec: WorkloadMixingSpec, gates: Gates) -> Iterator[Problem]:
    if not spec.slurm_token_file or not gates.token_paths:
        return
    file = _clean(spec.slurm_token_file)
    if file is None or not any(file.is_relative_to(allowed) for allowed in gates.token_paths):
        yield Problem(
            path="spec.slurmTokenFile",
            why=f"{spec.slurm_token_file} is not a path that the platform allows",
            fix=f"use a file within: {', '.join(gates.token_paths)}; or slurmTokenSecretRef",
        )


def _clean(path: str) -> PurePosixPath | None:
    parsed = PurePosixPath(path)
    return parsed if parsed.is_absolute() and ".." not in parsed.parts else None


def _host(spec: WorkloadMixingSpec, gates: Gates) -> Iterator[Problem]:
    if gates.slurm_hosts and not _host_allowed(spec.slurm_rest_url, gates.slurm_hosts):
        yield Problem(
            path="spec.slurmRestURL",
            why=f"{spec.slurm_rest_url} is not a host that the platform allows",
            fix=f"use one of: {', '.join(gates.slurm_hosts)}",
        )


def _host_allowed(url: str, rules: Iterable[str]) -> bool:
    """Whether the URL's host is allowed; a URL that two parsers could read differently never is."""
    if _ODD_IN_URL & set(url) or not url.isascii() or not url.isprintable():
        return False
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return False
    return any(_matches(rule.lower().rstrip("."), host, port) for rule in rules)


def _matches(rule: str, host: str, port: int) -> bool:
    if rule.startswith("*."):
        return host.endswith(rule[1:])
    return rule in (host, f"{host}:{port}", f"[{host}]", f"[{host}]:{port}")


def _transport(spec: WorkloadMixingSpec, gates: Gates) -> Iterator[Problem]:
    if gates.transport is Transport.INSECURE:
        return
    if spec.slurm_rest_url.lower().startswith("http://"):
        yield Problem(
            path="spec.slurmRestURL",
            why="the platform does not allow plain HTTP",
            fix="use https, or start k8s-bridge with --allow-insecure-tls (development only)",
        )
    if spec.slurm_insecure_skip_tls_verify:
        yield Problem(
            path="spec.slurmInsecureSkipTLSVerify",
            why="the platform does not allow certificates that are not checked",
            fix="set slurmCACertFile or slurmCARef, or start k8s-bridge with --allow-insecure-tls",
        )
