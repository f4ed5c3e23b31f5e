"""Node names that go into paths and command lines."""

from __future__ import annotations

import re
from collections.abc import Iterable

from k8s_bridge.core.errors import Terminal

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,252}")


def checked(names: Iterable[str]) -> tuple[str, ...]:
    """The names. Terminal(NodeNameInvalid) if one could be anything but the name of one node."""
    found = tuple(names)
    for name in found:
        if _NAME.fullmatch(name) is None:
            raise Terminal(f"not the name of a node: {name!r}", reason="NodeNameInvalid")
    return found
