"""The one lean model of Slurm jobs and nodes that all API versions are mapped to.

None means "not set" or "no limit" as each field says; sizes are MiB, times are Unix seconds, limits are
minutes as Slurm counts them.
"""

from __future__ import annotations

import msgspec

PENDING = "PENDING"
RUNNING = "RUNNING"
COMPLETING = "COMPLETING"

LONGEST = 1024
"""Bytes of a text of a job, such as its comment or its constraints: slurmctld refuses longer ones."""
TERMINAL = frozenset(
    {
        "COMPLETED",
        "CANCELLED",
        "FAILED",
        "TIMEOUT",
        "NODE_FAIL",
        "PREEMPTED",
        "BOOT_FAIL",
        "DEADLINE",
        "OUT_OF_MEMORY",
    }
)
_FAILED = frozenset({"FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "TIMEOUT"})
_NOT_OVER = frozenset({"COMPLETING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "PENDING"})
_ACTIVE = frozenset(
    {"RUNNING", "SUSPENDED", "CONFIGURING", "STAGE_OUT", "SIGNALING", "STOPPED", "RESIZING", COMPLETING}
)


class Job(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One job record of slurmctld."""

    job_id: int
    name: str = ""
    user_name: str = ""
    user_id: int = 0
    account: str = ""
    qos: str = ""
    wckey: str = ""
    partition: str = ""

    states: frozenset[str] = frozenset()
    """Base state and flags as one set; test membership, never equality."""
    held: bool = False
    reason: str = ""
    """state_reason, such as JobHeldUser, JobHeldAdmin, BadConstraints, Dependency, BeginTime."""
    priority: int | None = None
    submit_time: int = 0
    eligible_time: int = 0
    start_time: int = 0
    end_time: int = 0
    restart_count: int = 0
    requeue: bool = False
    exit_code: int | None = None
    dependency: str = ""
    comment: str = ""
    admin_comment: str = ""
    nice: int = 0
    """What its owner subtracts from its priority; negative only by an operator."""

    features: str = ""
    """The constraint expression (-C)."""
    prefer: str = ""
    required_nodes: str = ""
    excluded_nodes: str = ""
    nodes: str = ""
    """Hostlist of the allocated nodes; see hostlist.expand."""

    array_job_id: int | None = None
    array_task_id: int | None = None
    array_task_string: str = ""
    array_max_tasks: int = 0
    """How many tasks may run at a time (--array=…%N); 0 is no limit."""
    array_size: int = 0
    """Tasks of a job array that this record stands for and that have not started; 0 for anything else."""
    het_job_id: int | None = None
    het_job_offset: int | None = None

    tasks: int | None = None
    cpus: int | None = None
    node_count: int | None = None
    """Filled in by slurmctld even when nothing was asked."""
    max_nodes: int | None = None
    """None when -N gave no maximum."""
    cpus_per_task: int | None = None
    tasks_per_node: int | None = None
    tasks_per_socket: int | None = None
    tasks_per_core: int | None = None
    tasks_per_board: int | None = None
    tasks_per_tres: int | None = None
    min_cpus_per_node: int | None = None
    max_cpus: int | None = None
    sockets_per_node: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    core_spec: int | None = None
    thread_spec: int | None = None
    memory_per_node: int | None = None
    """MiB; 0 is --mem=0 (all of the node's memory)."""
    memory_per_cpu: int | None = None
    tres_per_job: str = ""
    tres_per_node: str = ""
    tres_per_socket: str = ""
    tres_per_task: str = ""
    cpus_per_tres: str = ""
    memory_per_tres: str = ""
    tres_request: str = ""
    """tres_req_str."""
    exclusive: str = ""
    """Empty, or the word of `shared`: none (= --exclusive), user, mcs, topo, oversubscribe."""
    exclusive_known: bool = True
    """False where the API version cannot tell a held --exclusive job from a plain one (v0.0.45)."""

    time_limit: int | None = None
    """Minutes; None is no limit."""
    time_minimum: int | None = None
    deadline: int | None = None
    licenses: str = ""
    reservation: str = ""
    network: str = ""
    burst_buffer: str = ""
    container: str = ""
    contiguous: bool = False
    reboot: bool = False
    required_switches: int = 0
    min_tmp_disk: int = 0
    flags: frozenset[str] = frozenset()

    @property
    def pending(self) -> bool:
        """Waiting in the queue, and nothing of it is still being cleaned up."""
        return PENDING in self.states and COMPLETING not in self.states

    @property
    def unit_id(self) -> int:
        """The id that stands for all of it: the array's, the heterogeneous job's first, or the job's own."""
        return self.array_job_id or self.het_job_id or self.job_id

    @property
    def active(self) -> bool:
        """Holds nodes now: running, suspended, configuring or completing."""
        return not self.states.isdisjoint(_ACTIVE)

    @property
    def terminal(self) -> bool:
        """Over for good: a final state without a flag that says it will run again or is not cleaned up."""
        return not self.states.isdisjoint(TERMINAL) and self.states.isdisjoint(_NOT_OVER)

    @property
    def failed(self) -> bool:
        """Over for good, and neither well nor because somebody wanted it to be."""
        return self.terminal and not self.states.isdisjoint(_FAILED)


class Node(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One node record of slurmctld."""

    name: str
    states: frozenset[str] = frozenset()
    """Base state and flags, such as IDLE, ALLOCATED, DRAIN, DYNAMIC_NORM, NOT_RESPONDING, INVALID_REG."""
    features: tuple[str, ...] = ()
    cpus: int = 0
    real_memory: int = 0
    """MiB."""
    gres: str = ""
    partitions: tuple[str, ...] = ()
    reason: str = ""
    alloc_cpus: int = 0
    started: int = 0
    """slurmd_start_time."""

    @property
    def usable(self) -> bool:
        """Registered, idle and willing: a job may start on it now."""
        return "IDLE" in self.states and self.states.isdisjoint(_UNUSABLE)

    @property
    def occupied(self) -> bool:
        """Something runs on it."""
        return not self.states.isdisjoint(_OCCUPIED) and COMPLETING not in self.states

    @property
    def busy(self) -> bool:
        """Something runs or completes on it."""
        return not self.states.isdisjoint(_BUSY)


_OCCUPIED = frozenset({"ALLOCATED", "MIXED"})
_BUSY = _OCCUPIED | {COMPLETING}
_UNUSABLE = frozenset(
    {"DOWN", "DRAIN", "FAIL", "NOT_RESPONDING", "INVALID_REG", "COMPLETING", "UNKNOWN", "FUTURE"},
)


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    """One reservation of Slurm."""

    name: str
    start_time: int = 0
    end_time: int = 0
    flags: frozenset[str] = frozenset()

    @property
    def takes_new_nodes(self) -> bool:
        """Whether a node that registers after it was made can be used in it (tried on 22.05 and 24.11)."""
        return not self.flags.isdisjoint({"ANY_NODES", "PART_NODES"})


class Ping(msgspec.Struct, frozen=True, kw_only=True):
    """Who answered: Slurm release, API version in use, ClusterName, host names of the slurmctlds."""

    release: str
    api_version: str
    cluster: str
    controllers: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """The same for one cluster however its URL is spelled; many clusters share a default ClusterName."""
        return f"{self.cluster}@{','.join(self.controllers)}"
