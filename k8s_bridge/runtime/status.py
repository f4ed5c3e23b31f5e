"""Writes the status of one WorkloadMixing: one writer, one write per change, nothing of others lost.

The bridge reports what it finds; the intake reports a refused revision, which overrides its Ready. A write
carries the resource version it was merged into, so that a condition of somebody else is never lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from api.problems import Problem
from api.v1alpha1 import ConditionType
from api.views import Condition
from k8s_bridge.core.conditions import Finding, merge
from k8s_bridge.core.effects import ObjectRef, Patch
from k8s_bridge.core.errors import BridgeError, Missing
from k8s_bridge.kube.depth import decode
from k8s_bridge.kube.versions import newer
from k8s_bridge.runtime.backoff import exponential
from k8s_bridge.runtime.sources import MixingObject
from k8s_bridge.runtime.waiting import wait

REFUSED = "SpecRefused"
SPACING_SECONDS = 1.0
"""Changes within this time are written together."""
_PROBLEMS_SHOWN = 20
_MIXINGS = msgspec.json.Decoder(MixingObject)

Write = Callable[[Patch], Awaitable[bytes]]


class Status:
    """The status of one object. `write` sends a patch and returns the object as it is after it.

    `ready` is the condition that a refused revision turns False. `clock` gives Unix seconds. `may_write` says
    whether the lease is ours. `failed` is told when writes begin to fail.
    """

    def __init__(  # noqa: PLR0913 - its collaborators, by keyword
        self,
        write: Write,
        *,
        ready: ConditionType = ConditionType.READY,
        may_write: Callable[[], bool],
        clock: Callable[[], float],
        random: Callable[[], float],
        failed: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self._write = write
        self._ready = ready
        self._failed = failed
        self._may_write = may_write
        self._clock = clock
        self._random = random
        self._there: MixingObject | None = None
        self._findings: dict[str, Finding] = {}
        self._fields: Mapping[str, Any] = {}
        self._fields_written: Mapping[str, Any] = {}
        self._refusal: Finding | None = None
        self._failures = 0
        self._dirty = asyncio.Event()
        self._rest = asyncio.Event()
        self._stopping = False

    def seen(self, there: MixingObject) -> None:
        """What the API server has, from a watch or as the answer to a write: they can overtake each other."""
        before = self._there
        if before is not None and before.metadata.uid != there.metadata.uid:
            self._fields_written = {}
        elif before is not None and not newer(there, before):
            return
        self._there = there
        self._dirty.set()

    def report(self, findings: Iterable[Finding], fields: Mapping[str, Any]) -> None:
        """The bridge's conditions, and the other status fields as they are to be in the document."""
        self._findings |= {finding.type: finding for finding in findings}
        self._fields = dict(fields)
        self._dirty.set()

    def findings(self) -> Mapping[str, Finding]:
        """The conditions as they are to be, by type."""
        refusal = {self._refusal.type: self._refusal} if self._refusal is not None else {}
        return {**self._findings, **refusal}

    def refuse(self, problems: Iterable[Problem], *, kept: bool) -> None:
        """The newest revision is not in force; `kept` says that an older one still is."""
        texts = [str(problem) for problem in problems]
        more = len(texts) - _PROBLEMS_SHOWN
        lines = [*texts[:_PROBLEMS_SHOWN], *([f"and {more} more"] if more > 0 else [])]
        head = "The last good revision stays in force. " if kept else ""
        self._refusal = Finding(
            type=self._ready, status="False", reason=REFUSED, message=head + "; ".join(lines)
        )
        self._dirty.set()

    def accept(self) -> None:
        """The newest revision is in force."""
        self._refusal = None
        self._dirty.set()

    def stop(self) -> None:
        """Make `run` return after the write under way."""
        self._stopping = True
        self._dirty.set()
        self._rest.set()

    async def run(self) -> None:
        """Write what has changed, until `stop`."""
        while True:
            await self._dirty.wait()
            if self._stopping:
                return
            self._dirty.clear()
            seconds = await self._once()
            if seconds and not self._stopping:
                await wait(self._rest, seconds=seconds)

    async def _once(self) -> float:
        """Write if there is something to write; how many seconds to rest after it."""
        patch = self.pending()
        if patch is None:
            return 0.0
        if not self._may_write():
            self._dirty.set()  # still due when the lease becomes ours
            return SPACING_SECONDS
        fields = self._fields
        try:
            after = decode(_MIXINGS, await self._write(patch))
        except Missing:
            return 0.0
        except (BridgeError, msgspec.MsgspecError) as error:
            self._failures += 1
            if self._failures == 1:  # the first of a row: the rest would say the same
                self._failed(error)
            self._dirty.set()
            return exponential(self._failures, self._random)
        self._failures = 0
        self._fields_written = fields
        self.seen(after)
        return SPACING_SECONDS

    def pending(self) -> Patch | None:
        """The write that is due now; None when the API server has everything."""
        there = self._there
        wanted = tuple(self.findings().values())
        if there is None or not wanted:
            return None
        now = datetime.fromtimestamp(self._clock(), UTC)
        generation = there.metadata.generation
        conditions = merge(there.status.conditions, wanted, now=now, generation=generation)
        if conditions == there.status.conditions and self._fields == self._fields_written:
            return None
        body = {"conditions": [_document(condition) for condition in conditions], **self._fields}
        if self._refusal is None:
            body["observedGeneration"] = generation
        return Patch(
            ref=ObjectRef.to(there),
            patch={"status": body},
            subresource="status",
            resource_version=there.metadata.resource_version,
        )


def _document(condition: Condition) -> dict[str, Any]:
    """A condition as the API demands it: an empty message is left out of a view, but it is required."""
    return {"message": "", **msgspec.to_builtins(condition)}
