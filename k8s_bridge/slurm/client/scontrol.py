"""What v0.0.38 cannot do by REST, done by the scontrol command: changes of nodes, and admin_comment.

No shell: an array of arguments, with names that were checked. What went wrong is asked of the REST API, not
read from scontrol's words.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

from k8s_bridge.core.errors import Conflict, Missing, Retry, Terminal
from k8s_bridge.slurm.client.config import SlurmEndpoint
from k8s_bridge.slurm.client.http import MayWrite
from k8s_bridge.slurm.client.token import TokenSource
from k8s_bridge.slurm.client.update import NodeState
from k8s_bridge.slurm.model import Node


class Scontrol:
    """Runs scontrol as the token's user. `node` reads one node by REST."""

    def __init__(
        self,
        endpoint: SlurmEndpoint,
        *,
        token: TokenSource,
        node: Callable[[str], Awaitable[Node]],
        may_write: MayWrite,
    ) -> None:
        self._may_write = may_write
        self._endpoint = endpoint
        self._token = token
        self._node = node

    async def update(self, names: tuple[str, ...], *, state: NodeState, reason: str) -> None:
        """Set the state of nodes; those that are not known are passed over."""
        meant = [name for name in names if await self._concerns(name, state)]
        if not meant:
            return
        why = () if state is NodeState.RESUME else (f"reason={' '.join(reason.split()) or 'k8s-bridge'}",)
        code, text = await self._run("update", f"nodename={','.join(meant)}", f"state={state}", *why)
        if code:
            raise Retry(f"scontrol update of {len(meant)} nodes: {text}")

    async def delete(self, name: str) -> None:
        """Delete a node. Unknown is success; Retry while it is busy or not to be deleted yet."""
        code, text = await self._run("delete", f"nodename={name}")
        if code and await self._concerns(name, NodeState.DOWN):
            raise Retry(f"scontrol delete of node {name}: {text}")

    async def note(self, job_id: int, *, text: str) -> None:
        """Set a job's admin_comment, which v0.0.38 shows but cannot set."""
        note = f"admincomment={' '.join(text.split())}"
        code, answer = await self._run("update", f"jobid={job_id:d}", note)
        if code:
            raise Retry(f"scontrol update of job {job_id}: {answer}")

    async def renumber(self, job_id: int, *, nodes: int) -> None:
        """Set a job's node count, which v0.0.38 takes without effect."""
        code, answer = await self._run("update", f"jobid={job_id:d}", f"numnodes={nodes:d}")
        if code:
            raise Retry(f"scontrol update of job {job_id}: {answer}")

    async def _concerns(self, name: str, state: NodeState) -> bool:
        """Whether the node is there; to resume one that is neither down nor drained is an error."""
        try:
            node = await self._node(name)
        except Missing:
            return False
        return state is not NodeState.RESUME or not node.states.isdisjoint({"DOWN", "DRAIN"})

    async def _run(self, *arguments: str) -> tuple[int, str]:
        if not self._may_write():
            raise Conflict(f"scontrol {arguments[0]}: not run, this instance may not write now")
        try:
            process = await asyncio.create_subprocess_exec(
                self._endpoint.scontrol,
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env={**os.environ, "SLURM_JWT": self._token.token()},
            )
        except OSError as error:
            raise Terminal(
                f"{self._endpoint.scontrol} cannot be run ({error.strerror}), and Slurm 22.05 changes nodes "
                "only by it: install Slurm's client commands (Debian: slurm-client) and a slurm.conf",
                reason="ScontrolMissing",
            ) from error
        try:
            out, _ = await asyncio.wait_for(process.communicate(), self._endpoint.timeout)
        except TimeoutError as error:
            process.kill()
            await process.wait()
            raise Retry(f"scontrol {arguments[0]}: no end after {self._endpoint.timeout:g} s") from error
        return process.returncode or 0, out.decode(errors="replace").strip()
