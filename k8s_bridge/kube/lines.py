"""Cuts a byte stream into lines at the byte 0x0A and nowhere else.

str.splitlines and httpx's aiter_lines also cut at U+0085 and U+2028, which a user can put into an annotation.
"""

from __future__ import annotations

from k8s_bridge.core.errors import Terminal


class LineSplitter:
    """Collects chunks of any size. `cap` bounds one line in bytes."""

    def __init__(self, *, cap: int) -> None:
        self._cap = cap
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes, without their ends and without empty ones.

        A line above the cap is Terminal: what sends it will send it again.
        """
        head, *rest = chunk.split(b"\n")
        self._keep(head)
        if not rest:
            return []
        lines = [b"".join(self._parts), *rest[:-1]]
        self._parts, self._size = [], 0
        self._keep(rest[-1])
        return [line for line in lines if line]

    def _keep(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._cap:
            raise Terminal(f"a line of more than {self._cap} bytes", reason="BodyTooLarge")
