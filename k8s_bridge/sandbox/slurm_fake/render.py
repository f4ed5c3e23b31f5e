"""The field values of full job and node records, from lean rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from k8s_bridge.sandbox.slurm_fake.jobs import Job, Reason, State
from k8s_bridge.sandbox.slurm_fake.nodes import Node, Share

_TERM = 15


def number(value: int) -> dict[str, Any]:
    """A set number in slurmrestd's wrapping."""
    return {"set": True, "infinite": False, "number": value}


def job_values(job: Job, *, now: float) -> dict[str, Any]:
    """What differs from an empty record for this row."""
    values = {
        **job.record,
        "job_id": job.job_id,
        "user_name": job.user,
        "user_id": user_id(job.user),
        "group_name": job.user,
        "job_state": job.states(now),
        "hold": job.held,
        "priority": number(job.priority),
        "state_reason": job.reason.value,
        "state_description": job.description,
        "submit_time": number(job.submit_time),
        "eligible_time": number(job.eligible_time),
        "restart_cnt": job.restarts,
        "cpus": number(job.demand.cpus),
        "node_count": number(job.demand.min_nodes),
        "tasks": number(job.demand.tasks),
        "dependency": str(job.dependency),
        "minimum_cpus_per_node": number(_cpus_per_node(job)),
        "tres_req_str": _tres(job, memory=_asked_memory(job)),
    }
    if job.held and "max_nodes" not in job.record and "cpus_per_task" not in job.record:
        values["max_nodes"] = number(job.demand.min_nodes)
    if job.eligible_time > now:
        values |= _begin(job)
    if job.array_id:
        values |= _array(job)
    if job.het_id:
        values |= {"het_job_id": number(job.het_id), "het_job_offset": number(job.het_offset)}
    if job.start_time:
        values |= _started(job)
    return values


def node_values(node: Node, *, now: float, partitions: Sequence[str]) -> dict[str, Any]:
    """What differs from an empty node record for this row."""
    gres = ",".join(map(str, node.gres))
    return {
        "name": node.name,
        "features": list(node.features),
        "active_features": list(node.features),
        "state": node.states(now),
        "cpus": node.cpus,
        "effective_cpus": node.cpus,
        "sockets": node.cpus,
        "real_memory": node.memory,
        "gres": gres,
        "gres_used": ",".join(_used(node)),
        "alloc_cpus": node.cpus - node.free_cpus,
        "alloc_idle_cpus": node.free_cpus,
        "alloc_memory": node.memory - node.free_memory,
        "partitions": list(partitions),
        "reason": node.reason,
        "reason_changed_at": number(node.reason_time),
        "comment": node.comment,
        "extra": node.extra,
        "boot_time": number(node.started),
        "last_busy": number(node.last_busy),
        "slurmd_start_time": number(node.started),
        "tres": f"cpu={node.cpus},mem={node.memory}M,billing={node.cpus}",
    }


def user_id(user: str) -> int:
    """A numeric id for a name: 0 for root, otherwise stable and above the system's own."""
    return 0 if user == "root" else 1_000 + sum(map(ord, user))


def hostlist(names: Iterable[str]) -> str:
    """Nodes as one text. Slurm may fold them (w-[1-2]); a plain list is a hostlist as well."""
    return ",".join(names)


def _array(job: Job) -> dict[str, Any]:
    task: dict[str, Any] = {"set": False, "infinite": False, "number": 0}
    return {
        "array_job_id": number(job.array_id),
        "array_task_id": task if job.array_task is None else number(job.array_task),
        "array_task_string": ranges(job.tasks) + (f"%{job.array_limit}" if job.array_limit else ""),
        "array_max_tasks": number(job.array_limit),
    }


def ranges(tasks: Sequence[int]) -> str:
    """Task numbers as Slurm writes them: 0-3,7."""
    spans: list[list[int]] = []
    for task in tasks:
        if spans and task == spans[-1][-1] + 1:
            spans[-1][1:] = [task]
        else:
            spans.append([task])
    return ",".join("-".join(map(str, span)) for span in spans)


def _begin(job: Job) -> dict[str, Any]:
    return {"start_time": number(job.eligible_time), "end_time": number(_end(job, job.eligible_time))}


def _end(job: Job, start: int) -> int:
    """When its time is over; a year when it has no limit."""
    limit = job.record.get("time_limit", {}).get("number", 0)
    return start + (limit or 525_600) * 60


def _cpus_per_node(job: Job) -> int:
    asked = job.record.get("minimum_cpus_per_node", {}).get("number", 1)
    return int(max(asked, job.demand.cpus_per_task * max(job.demand.tasks_per_node, 1)))


def _started(job: Job) -> dict[str, Any]:
    return {
        "start_time": number(job.start_time),
        "end_time": number(job.end_time or _end(job, job.start_time)),
        "nodes": hostlist(job.nodes),
        "batch_host": job.nodes[0] if job.nodes else "",
        "failed_node": job.failed_node,
        "job_resources": _resources(job.shares) if job.shares else None,
        "tres_alloc_str": _tres(job, memory=sum(share.memory for share in job.shares)),
        "exit_code": _exit(job),
    }


def _exit(job: Job) -> dict[str, Any]:
    unset = {"set": False, "infinite": False, "number": 0}
    if job.state in (State.CANCELLED, State.TIMEOUT, State.NODE_FAIL):
        signal = {"id": number(_TERM), "name": "TERM"}
        return {"status": ["SIGNALED"], "return_code": unset, "signal": signal}
    failed = job.reason is Reason.NON_ZERO_EXIT
    code = number(job.exit_code if failed else 0)
    return {
        "status": ["ERROR" if failed else "SUCCESS"],
        "return_code": code,
        "signal": {"id": unset, "name": ""},
    }


def _resources(shares: Sequence[Share]) -> dict[str, Any]:
    allocation = [
        {
            "index": index,
            "name": share.node,
            "cpus": {"count": share.cpus, "used": 0},
            "memory": {"used": 0, "allocated": share.memory},
            "sockets": [
                {"index": core, "cores": [{"index": 0, "status": ["ALLOCATED"]}]}
                for core in range(share.cpus)
            ],
        }
        for index, share in enumerate(shares)
    ]
    listed = hostlist(share.node for share in shares)
    nodes = {"count": len(shares), "select_type": ["ONE_ROW"], "list": listed, "whole": False}
    return {
        "select_type": ["CORE"],
        "nodes": {**nodes, "allocation": allocation},
        "cpus": sum(share.cpus for share in shares),
        "threads_per_core": {"set": False, "infinite": False, "number": 0},
    }


def _asked_memory(job: Job) -> int:
    needs = job.demand
    return needs.memory_per_node * needs.min_nodes or needs.memory_per_cpu * needs.cpus


def _tres(job: Job, *, memory: int) -> str:
    needs = job.demand
    nodes = len(job.shares) or needs.min_nodes
    listed = {"cpu": needs.cpus, "mem": f"{memory}M" if memory else 0, "node": nodes, "billing": needs.cpus}
    return ",".join(f"{name}={amount}" for name, amount in listed.items() if amount)


def _used(node: Node) -> Iterable[str]:
    for position, have in enumerate(node.gres):
        name = ":".join(filter(None, (have.name, have.type)))
        yield f"{name}:{have.count - node.free_gres(position)}"
