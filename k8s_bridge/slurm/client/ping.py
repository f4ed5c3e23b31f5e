"""Who answers a ping, in the words of v0.0.38, v0.0.40 and v0.0.45."""

from __future__ import annotations

import msgspec

from k8s_bridge.core.errors import Retry
from k8s_bridge.slurm.client.wire import Envelope
from k8s_bridge.slurm.model import Ping


class _Controller(msgspec.Struct):
    hostname: str = ""
    ping: str = ""
    pinged: str = ""
    responding: bool = False

    @property
    def up(self) -> bool:
        return self.responding or "UP" in (self.ping, self.pinged)


class _Pings(msgspec.Struct):
    pings: tuple[_Controller, ...] = ()


def ping_of(envelope: Envelope | None, *, body: bytes, version: str) -> Ping:
    """The answer to a ping. Retry when no slurmctld is up (slurmrestd says 200 all the same)."""
    try:
        pings = msgspec.json.decode(body, type=_Pings).pings
    except msgspec.MsgspecError as error:
        raise Retry(f"Slurm GET ping: an answer that cannot be read: {error}") from error
    if not any(controller.up for controller in pings):
        raise Retry("slurmctld does not answer its slurmrestd")
    who = (envelope.meta.slurm or envelope.meta.Slurm) if envelope else None
    if who is None:
        raise Retry("Slurm GET ping: the answer does not say which Slurm it is")
    return Ping(
        release=who.release,
        api_version=version,
        cluster=who.cluster,
        controllers=tuple(sorted(controller.hostname for controller in pings)),
    )
