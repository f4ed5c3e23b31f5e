"""Sinks that turn the body of an answer into models while it comes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from k8s_bridge.core.errors import Retry
from k8s_bridge.slurm.client.http import Body
from k8s_bridge.slurm.client.split import Malformed, Splitter
from k8s_bridge.slurm.client.wire import Envelope, envelope_of

T = TypeVar("T")


class Small:
    """A small answer, kept whole, up to a cap in bytes."""

    def __init__(self, cap: int) -> None:
        self._body = Body(cap)

    def feed(self, chunk: bytes) -> None:
        """Terminal above the cap."""
        self._body.feed(chunk)

    def finish(self) -> Envelope:
        """The frame. Retry when the body is not an answer of slurmrestd."""
        envelope = envelope_of(self.body)
        if envelope is None:
            raise Retry("slurmrestd gave HTTP 200 with a body that is not an answer of its API")
        return envelope

    @property
    def body(self) -> bytes:
        """All of it."""
        return self._body.whole()


class Items(Generic[T]):
    """The items of one array. One that cannot be read is counted and left out; the others live on."""

    def __init__(self, key: str, *, read: Callable[[bytes], T], cap: int) -> None:
        self.items: list[T] = []
        self.malformed = 0
        self._splitter = Splitter(key, cap=cap)
        self._read = read

    def feed(self, chunk: bytes) -> None:
        """Retry when the body is not an answer of slurmrestd."""
        try:
            self._take(self._splitter.feed(chunk))
        except Malformed as error:
            raise Retry(f"slurmrestd gave an answer that cannot be read: {error}") from error

    def finish(self) -> Envelope:
        """The frame, after the last piece. Retry when the body is not a complete answer."""
        try:
            items, frame = self._splitter.finish()
        except Malformed as error:
            raise Retry(f"slurmrestd gave an answer that cannot be read: {error}") from error
        self._take(items)
        envelope = envelope_of(frame)
        if envelope is None:
            raise Retry("slurmrestd gave an answer with an unknown frame")
        return envelope

    @property
    def found(self) -> bool:
        """Whether the answer had the array at all."""
        return self._splitter.found

    def _take(self, raws: list[bytes]) -> None:
        for raw in raws:
            try:
                self.items.append(self._read(raw))
            except (msgspec.MsgspecError, ValueError):
                self.malformed += 1
