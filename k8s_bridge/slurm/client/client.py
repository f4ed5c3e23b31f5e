"""SlurmClient: the questions and commands of `port`, over one slurmrestd."""

from __future__ import annotations

from k8s_bridge.slurm.client.config import SlurmEndpoint
from k8s_bridge.slurm.client.http import MayWrite, OnCall, always, ignore
from k8s_bridge.slurm.client.reads import Reads
from k8s_bridge.slurm.client.scontrol import Scontrol
from k8s_bridge.slurm.client.session import Session
from k8s_bridge.slurm.client.token import TokenSource
from k8s_bridge.slurm.client.writes import Writes


class SlurmClient(Reads, Writes):
    """A client of one slurmrestd. Close it; requests under way get 5 s to end.

    `may_write` is asked before each single change is sent: Conflict when the lease is over.
    """

    def __init__(
        self,
        endpoint: SlurmEndpoint,
        *,
        token: TokenSource,
        on_call: OnCall = ignore,
        may_write: MayWrite = always,
    ) -> None:
        session = Session(endpoint, token=token, on_call=on_call, may_write=may_write)
        Reads.__init__(self, session)
        scontrol = Scontrol(endpoint, token=token, node=self.node, may_write=may_write)
        Writes.__init__(self, session, reads=self, scontrol=scontrol)
        self.endpoint = endpoint
        self.token = token

    async def close(self) -> None:
        """Let requests under way end, then close."""
        await self._session.close()
