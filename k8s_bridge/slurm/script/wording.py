"""Effects of options that one format cannot tell."""

from __future__ import annotations


def nodes(_: bool, least: int, most: int) -> str:  # noqa: FBT001  # the value of a field
    """Of --nodes; a most of 0 is no limit."""
    return f"{least} nodes" if most in (0, least) else f"{least} to {most} nodes"


def memory_of_node(mib: int) -> str:
    """Of --mem."""
    return f"{mib} MiB on each node" if mib else "all memory of each node"


def memory_of_cpu(mib: int) -> str:
    """Of --mem-per-cpu."""
    return f"{mib} MiB for each CPU" if mib else "all memory of each node"


def limit(minutes: int | None) -> str:
    """Of --time."""
    return "no time limit" if minutes is None else f"time limit of {minutes} minutes"


def shortest(minutes: int | None) -> str:
    """Of --time-min."""
    return "no effect on the capacity" if minutes is None else f"the limit may shrink to {minutes} minutes"


def sharing(word: str) -> str:
    """Of --exclusive: only the plain one asks for more than pods give anyway."""
    return "whole nodes" if word == "none" else f"{word}: nobody else gets these nodes anyway"


def gres(text: str) -> str:
    """Of --gres."""
    return f"{text.replace('gres/', '')} on each node" if text else "no GRES"


def geometry(_: bool, sockets: int | None, cores: int | None, threads: int | None) -> str:  # noqa: FBT001
    """Of --extra-node-info."""
    sizes = (("sockets", sockets), ("cores", cores), ("threads", threads))
    return ", ".join(f"{size} {name}" for name, size in sizes if size is not None) or "any geometry"
