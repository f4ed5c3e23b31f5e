"""Which of two states of a Kubernetes object is the newer one."""

from __future__ import annotations

from api.views import Object


def newer(candidate: Object, current: Object) -> bool:
    """Whether `candidate` may replace `current` of the same key.

    Resource versions are compared as numbers. Where one is not a number no order is known, and a
    different version is taken for a newer one: the watch delivers in order anyway.
    """
    return newer_version(candidate.metadata.resource_version, current.metadata.resource_version)


def newer_version(candidate: str, current: str) -> bool:
    """`candidate` > `current` as numbers; merely different where either is not a number."""
    if candidate.isdecimal() and current.isdecimal():
        return int(candidate) > int(current)
    return candidate != current
