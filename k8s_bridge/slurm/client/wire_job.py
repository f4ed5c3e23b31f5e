"""A job on the wire, in the spellings of v0.0.38 to v0.0.45, and its translation to the lean model."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from k8s_bridge.slurm.client.array_tasks import listed_tasks
from k8s_bridge.slurm.client.number import AnyNumber, of16, of32, of64, positive16, positive32, time_of
from k8s_bridge.slurm.model import PENDING, RUNNING, Job

_SIGNALLED = 128
_NO_THREAD_SPEC = 0x7FFE
"""NO_VAL16 without the bit that tells threads from cores."""
_NO_NUMBER: AnyNumber = None


class Signal(msgspec.Struct, frozen=True):
    """exit_code.signal."""

    id: AnyNumber = None
    signal_id: AnyNumber = None


class ExitCode(msgspec.Struct, frozen=True):
    """exit_code from v0.0.39 on."""

    return_code: AnyNumber = None
    signal: Signal = Signal()


class WireJob(msgspec.Struct, frozen=True, gc=False):
    """The fields that are used. Absent ones take the meaning of "not set"."""

    job_id: int
    job_state: str | tuple[str, ...]
    name: str | None = None
    user_name: str | None = None
    user_id: int = 0
    account: str | None = None
    qos: str | None = None
    wckey: str | None = None
    partition: str | None = None
    hold: bool | None = None
    state_reason: str | None = None
    priority: AnyNumber = _NO_NUMBER
    submit_time: AnyNumber = _NO_NUMBER
    eligible_time: AnyNumber = _NO_NUMBER
    start_time: AnyNumber = _NO_NUMBER
    end_time: AnyNumber = _NO_NUMBER
    restart_cnt: int = 0
    requeue: bool | int = False
    exit_code: ExitCode | int | None = None
    dependency: str | None = None
    comment: str | None = None
    admin_comment: str | None = None
    nice: int | None = None
    features: str | None = None
    prefer: str | None = None
    required_nodes: str | None = None
    excluded_nodes: str | None = None
    nodes: str | None = None
    array_job_id: AnyNumber = _NO_NUMBER
    array_task_id: AnyNumber = _NO_NUMBER
    array_task_string: str | None = None
    array_max_tasks: AnyNumber = _NO_NUMBER
    het_job_id: AnyNumber = _NO_NUMBER
    het_job_offset: AnyNumber = _NO_NUMBER
    tasks: AnyNumber = _NO_NUMBER
    cpus: AnyNumber = _NO_NUMBER
    node_count: AnyNumber = _NO_NUMBER
    max_nodes: AnyNumber = _NO_NUMBER
    cpus_per_task: AnyNumber = _NO_NUMBER
    tasks_per_node: AnyNumber = _NO_NUMBER
    tasks_per_socket: AnyNumber = _NO_NUMBER
    tasks_per_core: AnyNumber = _NO_NUMBER
    tasks_per_board: AnyNumber = _NO_NUMBER
    tasks_per_tres: AnyNumber = _NO_NUMBER
    minimum_cpus_per_node: AnyNumber = _NO_NUMBER
    max_cpus: AnyNumber = _NO_NUMBER
    sockets_per_node: AnyNumber = _NO_NUMBER
    cores_per_socket: AnyNumber = _NO_NUMBER
    threads_per_core: AnyNumber = _NO_NUMBER
    core_spec: AnyNumber = _NO_NUMBER
    thread_spec: AnyNumber = _NO_NUMBER
    memory_per_node: AnyNumber = _NO_NUMBER
    memory_per_cpu: AnyNumber = _NO_NUMBER
    tres_per_job: str | None = None
    tres_per_node: str | None = None
    tres_per_socket: str | None = None
    tres_per_task: str | None = None
    cpus_per_tres: str | None = None
    memory_per_tres: str | None = None
    tres_req_str: str | None = None
    shared: str | tuple[str, ...] | None = None
    time_limit: AnyNumber = _NO_NUMBER
    time_minimum: AnyNumber = _NO_NUMBER
    deadline: AnyNumber = _NO_NUMBER
    licenses: str | None = None
    resv_name: str | None = None
    network: str | None = None
    burst_buffer: str | None = None
    container: str | None = None
    contiguous: bool | int = False
    reboot: bool | int = False
    required_switches: AnyNumber = _NO_NUMBER
    minimum_switches: AnyNumber = _NO_NUMBER
    minimum_tmp_disk_per_node: AnyNumber = _NO_NUMBER
    flags: tuple[str, ...] = ()


def job_of(wire: WireJob, *, exclusive_known: bool) -> Job:
    """The lean model of a job."""
    states = words(wire.job_state)
    return Job(
        job_id=wire.job_id,
        name=wire.name or "",
        user_name=_one(wire.user_name),
        user_id=wire.user_id,
        account=_one(wire.account),
        qos=_one(wire.qos),
        wckey=_one(wire.wckey),
        partition=_one(wire.partition),
        states=states,
        held=_held(wire, states),
        reason=_one(wire.state_reason),
        priority=of32(wire.priority),
        submit_time=time_of(wire.submit_time),
        eligible_time=time_of(wire.eligible_time),
        start_time=time_of(wire.start_time),
        end_time=time_of(wire.end_time),
        restart_count=wire.restart_cnt,
        requeue=bool(wire.requeue),
        exit_code=_exit_code(wire.exit_code),
        dependency=wire.dependency or "",
        comment=wire.comment or "",
        admin_comment=wire.admin_comment or "",
        nice=wire.nice or 0,
        features=wire.features or "",
        prefer=wire.prefer or "",
        required_nodes=wire.required_nodes or "",
        excluded_nodes=wire.excluded_nodes or "",
        nodes=wire.nodes or "",
        array_job_id=positive32(wire.array_job_id),
        array_task_id=of32(wire.array_task_id),
        array_task_string=wire.array_task_string or "",
        array_max_tasks=of32(wire.array_max_tasks) or 0,
        array_size=listed_tasks(wire.array_task_string or ""),
        het_job_id=(het := positive32(wire.het_job_id)),
        het_job_offset=of32(wire.het_job_offset) if het else None,
        tasks=of32(wire.tasks),
        cpus=of32(wire.cpus),
        node_count=of32(wire.node_count),
        max_nodes=positive32(wire.max_nodes),
        cpus_per_task=positive16(wire.cpus_per_task),
        tasks_per_node=positive16(wire.tasks_per_node),
        tasks_per_socket=positive16(wire.tasks_per_socket),
        tasks_per_core=positive16(wire.tasks_per_core),
        tasks_per_board=positive16(wire.tasks_per_board),
        tasks_per_tres=positive16(wire.tasks_per_tres),
        min_cpus_per_node=positive16(wire.minimum_cpus_per_node),
        max_cpus=positive32(wire.max_cpus),
        sockets_per_node=positive16(wire.sockets_per_node),
        cores_per_socket=positive16(wire.cores_per_socket),
        threads_per_core=positive16(wire.threads_per_core),
        core_spec=positive16(wire.core_spec),
        thread_spec=_thread_spec(wire.thread_spec),
        memory_per_node=of64(wire.memory_per_node),
        memory_per_cpu=of64(wire.memory_per_cpu),
        tres_per_job=wire.tres_per_job or "",
        tres_per_node=wire.tres_per_node or "",
        tres_per_socket=wire.tres_per_socket or "",
        tres_per_task=wire.tres_per_task or "",
        cpus_per_tres=wire.cpus_per_tres or "",
        memory_per_tres=wire.memory_per_tres or "",
        tres_request=_one(wire.tres_req_str),
        exclusive=_exclusive(wire.shared),
        exclusive_known=exclusive_known,
        time_limit=of32(wire.time_limit),
        time_minimum=positive32(wire.time_minimum),
        deadline=time_of(wire.deadline) or None,
        licenses=wire.licenses or "",
        reservation=wire.resv_name or "",
        network=wire.network or "",
        burst_buffer=wire.burst_buffer or "",
        container=wire.container or "",
        contiguous=bool(wire.contiguous),
        reboot=bool(wire.reboot),
        required_switches=of32(wire.required_switches) or of32(wire.minimum_switches) or 0,
        min_tmp_disk=of32(wire.minimum_tmp_disk_per_node) or 0,
        flags=_set(wire.flags),
    )


@lru_cache(maxsize=4096)
def _one(raw: str | None) -> str:
    """The same text as one object: tens of thousands of records say the same here."""
    return raw or ""


@lru_cache(maxsize=1024)
def words(raw: str | tuple[str, ...]) -> frozenset[str]:
    """States as one set of upper-case words, whether they came as one word or as a list."""
    return frozenset(word.upper() for word in ((raw,) if isinstance(raw, str) else raw))


@lru_cache(maxsize=1024)
def _set(raw: Iterable[str]) -> frozenset[str]:
    return frozenset(raw)


def _held(wire: WireJob, states: frozenset[str]) -> bool:
    """v0.0.38 has no field for it: a job waits or runs with priority 0 only when it is held."""
    if wire.hold is not None:
        return wire.hold
    return not states.isdisjoint((PENDING, RUNNING)) and of32(wire.priority) == 0


def _exit_code(raw: ExitCode | int | None) -> int | None:
    """As a shell says it: 128 + signal when a signal ended the job. v0.0.38 gives the wait status."""
    if isinstance(raw, ExitCode):
        signal = of16(raw.signal.id) or of16(raw.signal.signal_id)
        return _SIGNALLED + signal if signal else of32(raw.return_code)
    if raw is None:
        return None
    return _SIGNALLED + (raw & 0x7F) if raw & 0x7F else raw >> 8


def _exclusive(raw: str | tuple[str, ...] | None) -> str:
    word = raw if isinstance(raw, str) else next(iter(raw or ()), "")
    return "oversubscribe" if word == "shared" else word


def _thread_spec(raw: AnyNumber) -> int | None:
    value = positive16(raw)
    return None if value == _NO_THREAD_SPEC else value
