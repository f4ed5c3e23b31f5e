"""What calls leave behind for the garbage collector, which comes by seldom in a bridge."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

_OURS = ("httpx", "httpcore", "k8s_bridge")


@contextmanager
def none_left() -> Iterator[None]:
    """Nothing of the block may be left that only the collector can free."""
    gc.collect()
    gc.disable()
    try:
        yield
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = Counter(type(one).__qualname__ for one in gc.garbage if type(one).__module__.startswith(_OURS))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left, left
