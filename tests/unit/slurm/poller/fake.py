"""A Slurm in memory that answers the poller's questions and counts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from k8s_bridge.core.errors import BridgeError, Missing
from k8s_bridge.kube.store import Table
from k8s_bridge.slurm.client import Listing, Partition, Unchanged
from k8s_bridge.slurm.client.results import Glance
from k8s_bridge.slurm.model import Job, Node, Ping

PENDING = frozenset({"PENDING"})
RUNNING = frozenset({"RUNNING"})
COMPLETED = frozenset({"COMPLETED"})


def job(job_id: int, states: frozenset[str] = PENDING, **fields: object) -> Job:
    return Job(job_id=job_id, states=states, **fields)  # type: ignore[arg-type]


class FakeSlurm:
    """`cheap` says whether it has jobs/state/; `hidden` ids are left out of lists though they are there.

    `read_as` is what a job is for the next question about it alone.
    """

    def __init__(self, *jobs: Job, cheap: bool = True) -> None:
        self.cheap = cheap
        self.states: Mapping[int, Glance] = {}
        self.tasks: dict[int, frozenset[int]] = {}
        self.time = 1000
        self.changed = 1000
        self.jobs_by_id = {one.job_id: one for one in jobs}
        self.nodes_by_name: dict[str, Node] = {}
        self.hidden: set[int] = set()
        self.error: BridgeError | None = None
        self.errors_of: dict[int, BridgeError] = {}
        self.malformed = 0
        self.calls: Counter[str] = Counter()
        self.read: list[int] = []
        self.read_as: dict[int, Job] = {}

    def put(self, *jobs: Job) -> None:
        for one in jobs:
            self.jobs_by_id[one.job_id] = one
        self._change()

    def purge(self, *job_ids: int) -> None:
        for job_id in job_ids:
            del self.jobs_by_id[job_id]
        self._change()

    def put_node(self, node: Node) -> None:
        self.nodes_by_name[node.name] = node
        self._change()

    async def ping(self) -> Ping:
        raise AssertionError("the poller has no use for it")

    async def partitions(self) -> tuple[Partition, ...]:
        raise AssertionError("the poller has no use for it")

    async def jobs(self, since: int | None = None) -> Listing[Job] | Unchanged:
        self._call("jobs")
        if since is not None and self.changed <= since:
            return Unchanged()
        self.calls["full"] += 1
        items = tuple(one for one in self.jobs_by_id.values() if one.job_id not in self.hidden)
        return Listing(items=items, last_update=self.changed, malformed=self.malformed)

    async def job_states(self) -> Mapping[int, Glance] | None:
        self._call("states")
        if not self.cheap:
            return None
        there = [one for one in self.jobs_by_id.values() if one.job_id not in self.hidden]
        now = {one.job_id: Glance(one.states, self.tasks.get(one.job_id, frozenset())) for one in there}
        self.states = self.states if self.states == now else now
        return self.states

    async def job(self, job_id: int) -> Job:
        self._call("job")
        self.read.append(job_id)
        if job_id in self.errors_of:
            raise self.errors_of[job_id]
        if job_id not in self.jobs_by_id:
            raise Missing(f"no job {job_id}")
        return self.read_as.pop(job_id, self.jobs_by_id[job_id])

    async def nodes(self, since: int | None = None) -> Listing[Node] | Unchanged:
        self._call("nodes")
        if since is not None and self.changed <= since:
            return Unchanged()
        return Listing(
            items=tuple(self.nodes_by_name.values()), last_update=self.changed, malformed=self.malformed
        )

    def _change(self) -> None:
        self.time += 10
        self.changed = self.time

    def _call(self, what: str) -> None:
        self.calls[what] += 1
        if self.error is not None:
            raise self.error


def job_table() -> Table[Job]:
    return Table(lambda one: str(one.job_id))


def node_table() -> Table[Node]:
    return Table(lambda node: node.name)


class Clock:
    """Monotonic seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
