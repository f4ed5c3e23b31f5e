"""Where WorkloadMixings come from: custom resources in a table, or one file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from api.load import load_file, parse_workloadmixing
from api.problems import InvalidWorkloadMixing
from api.v1alpha1 import GROUP, KIND, PLURAL, VERSION, WorkloadMixing
from api.views import Condition, Object, View
from k8s_bridge.kube.store import Delta, Table
from k8s_bridge.runtime.intake import Intake
from k8s_bridge.runtime.waiting import wait

FILE_SECONDS = 1.0
"""How often the file's stamp is looked at."""

Stamp = tuple[int, int, int]


class MixingStatus(View, frozen=True):
    """What the bridge reads back of a status: the rest it writes only."""

    conditions: tuple[Condition, ...] = ()


class MixingObject(Object, frozen=True):
    """A WorkloadMixing as the API server holds it: the spec unread, for the models to judge."""

    GVR = (GROUP, VERSION, PLURAL)
    KIND = KIND

    spec: dict[str, Any] = msgspec.field(default_factory=dict)
    status: MixingStatus = MixingStatus()


def read_object(obj: MixingObject) -> WorkloadMixing:
    """The resource as models. Equal unless spec, identity or deletion differ: a status write is no change.

    InvalidWorkloadMixing with all problems.
    """
    meta = obj.metadata
    metadata = {
        "name": meta.name,
        "namespace": meta.namespace,
        "uid": meta.uid,
        "generation": meta.generation,
        "creationTimestamp": _time(meta.creation_timestamp),
        "deletionTimestamp": _time(meta.deletion_timestamp),
        "finalizers": list(meta.finalizers),
    }
    return parse_workloadmixing({"metadata": metadata, "spec": obj.spec})


def _time(value: object) -> object:
    return None if value is None else msgspec.to_builtins(value)


class TableSource:
    """Feeds the rows of a table into an intake, from construction on. `only` is a key, or "" for all."""

    def __init__(self, table: Table[MixingObject], intake: Intake, *, only: str = "") -> None:
        self._intake = intake
        self._only = only
        for obj in table.values():
            self._offer(obj)
        table.subscribe(self._changed)

    def _changed(self, delta: Delta[MixingObject]) -> None:
        if delta.new is not None:
            self._offer(delta.new)
        elif self._is_ours(delta.key):
            self._intake.drop(delta.key)

    def _offer(self, obj: MixingObject) -> None:
        if self._is_ours(obj.key):
            self._intake.offer(obj.key, lambda: read_object(obj))

    def _is_ours(self, key: str) -> bool:
        return self._only in ("", key)


class FileSource:
    """Feeds one file into an intake, again whenever its time, size or inode changes.

    A file that vanishes keeps the last good revision in force: editors and ConfigMap mounts replace files.
    `namespace` is where JobSets go when the file names none.
    """

    def __init__(self, path: Path, intake: Intake, *, namespace: str) -> None:
        self._path = path
        self._intake = intake
        self._namespace = namespace
        self._stamp: Stamp | str | None = ""
        self._key = ""
        self._wake = asyncio.Event()
        self._stopping = False

    async def run(self) -> None:
        """Look at the file until `stop`."""
        while not self._stopping:
            self.look()
            await wait(self._wake, seconds=FILE_SECONDS)

    def stop(self) -> None:
        """Make `run` return."""
        self._stopping = True
        self._wake.set()

    def look(self) -> None:
        """Offer the file if it is another one than at the last look."""
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            self._stamp = stamp
            self._offer()

    def _offer(self) -> None:
        try:
            mixing = self._read()
        except (InvalidWorkloadMixing, OSError, UnicodeError) as error:
            self._intake.offer(self._key or f"{self._namespace}/{self._path.stem}", _raising(error))
            return
        key = f"{mixing.metadata.namespace}/{mixing.metadata.name}"
        if not self._intake.offer(key, lambda: mixing):
            return
        if self._key not in ("", key):  # the file now describes another WorkloadMixing
            self._intake.drop(self._key)
        self._key = key

    def _read(self) -> WorkloadMixing:
        text = self._path.read_text(encoding="utf-8")
        mixing = load_file(text, name=self._path.stem, namespace=self._namespace)
        if mixing.metadata.namespace:
            return mixing
        metadata = mixing.metadata.model_copy(update={"namespace": self._namespace})
        return mixing.model_copy(update={"metadata": metadata})


def _raising(error: Exception) -> Callable[[], WorkloadMixing]:
    def read() -> WorkloadMixing:
        raise error

    return read


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
