"""Container image references, and rules that allow some of them. Pure.

Rules end at the borders that registries know: a rule for `registry.example.com/hpc/slurmd` says nothing
about `…/slurmd-evil` or `registry.example.com.evil.org/…`, which is what a string prefix would do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_DEFAULT_REGISTRY = "docker.io"
_HUB_NAMES = frozenset({"docker.io", "index.docker.io", "registry-1.docker.io"})
_REPOSITORY = re.compile(r"[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class BadImage(ValueError):
    """Not an image reference, or not a rule for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A reference in full: `repository` carries the registry; `tag` and `digest` may be ""."""

    repository: str
    tag: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRule:
    """`under` ends in "/" and allows all repositories below it; else `image` is what is allowed."""

    under: str = ""
    image: Image | None = None

    def allows(self, image: Image) -> bool:
        """Whether `image` is within the rule."""
        if self.image is None:
            return image.repository.startswith(self.under)
        if image.repository != self.image.repository:
            return False
        if self.image.digest:
            return image.digest == self.image.digest
        if self.image.tag:  # a digest beside the tag decides what is pulled, so the tag proves nothing
            return image.tag == self.image.tag and not image.digest
        return True


def parse_image(text: str) -> Image:
    """`text` with what it leaves out filled in as container runtimes do. BadImage if it is none."""
    name, at, digest = text.partition("@")
    head, slash, last = name.rpartition("/")
    last, colon, tag = last.partition(":")
    repository = _full(f"{head}{slash}{last}")
    sound = (
        _REPOSITORY.fullmatch(repository)
        and (not colon or _TAG.fullmatch(tag))
        and (not at or _DIGEST.fullmatch(digest))
    )
    if not sound:
        raise BadImage(f"{text!r} is not an image reference")
    return Image(repository=repository, tag=tag, digest=digest)


def parse_rule(text: str) -> ImageRule:
    """`registry/path/` (all below), `registry/repository`, with `:tag` or `@sha256:…`. BadImage if none."""
    under = text.removesuffix("*")
    if under.endswith("/"):
        return ImageRule(under=_full_folder(under.rstrip("/")))
    if "/" not in text and "." in text:
        raise BadImage(f"{text!r} reads as a registry: write {text}/ to allow all of it")
    return ImageRule(image=parse_image(text))


def _full(name: str) -> str:
    registry, path = _split(name)
    if registry == _DEFAULT_REGISTRY and "/" not in path:
        path = f"library/{path}"
    return f"{registry}/{path}"


def _full_folder(name: str) -> str:
    registry, path = _split(f"{name}/")
    return f"{registry}/{path}"


def _split(name: str) -> tuple[str, str]:
    """Registry and path; what does not begin with a registry is Docker Hub's."""
    first, slash, rest = name.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost"):
        return _DEFAULT_REGISTRY, name
    registry = first.lower()
    return _DEFAULT_REGISTRY if registry in _HUB_NAMES else registry, rest
