"""How much the bridge of this process keeps, and what it leaves to the garbage collector."""

from __future__ import annotations

import contextlib
import gc
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from types import FrameType

_PARTS = ("slurm", "runtime", "kube", "core")
_MODULES = tuple(f"k8s_bridge.{part}." for part in _PARTS)
_FOLDERS = tuple(f"/k8s_bridge/{part}/" for part in _PARTS)
_CONTAINERS = (dict, set, list, deque, OrderedDict)


def kept() -> Counter[str]:
    """`Class.attribute` -> entries of all such containers together, and `Class` -> objects."""
    gc.unfreeze()  # what is frozen is not listed
    found: Counter[str] = Counter()
    for thing in gc.get_objects():
        kind = type(thing)
        if str(kind.__module__).startswith(_MODULES):
            found[kind.__qualname__] += 1
            for name, value in _attributes(thing):
                if isinstance(value, _CONTAINERS):
                    found[f"{kind.__qualname__}.{name}"] += len(value)
    return found


@contextlib.contextmanager
def left_lying() -> Iterator[Counter[str]]:
    """In the end: objects and frames of the bridge that nobody uses, but that a cycle keeps."""
    found: Counter[str] = Counter()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        found.update(name for thing in gc.garbage if (name := _of_the_bridge(thing)))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def _of_the_bridge(thing: object) -> str:
    if isinstance(thing, FrameType):
        code = thing.f_code
        return f"frame of {code.co_qualname}" if any(f in code.co_filename for f in _FOLDERS) else ""
    kind = type(thing)
    return kind.__qualname__ if str(kind.__module__).startswith(_MODULES) else ""


def _attributes(thing: object) -> Iterator[tuple[str, object]]:
    yield from getattr(thing, "__dict__", {}).items()
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(thing, name):
                yield name, getattr(thing, name)
