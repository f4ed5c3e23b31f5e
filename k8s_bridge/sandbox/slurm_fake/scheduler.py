"""What time does to a cluster: jobs end, silent nodes go down, waiting jobs start."""

from __future__ import annotations

import math
from dataclasses import replace

from k8s_bridge.sandbox.slurm_fake import demand, dependency, ending, features, node_admin
from k8s_bridge.sandbox.slurm_fake.cluster import Cluster
from k8s_bridge.sandbox.slurm_fake.demand import place
from k8s_bridge.sandbox.slurm_fake.jobs import Job, Reason, State
from k8s_bridge.sandbox.slurm_fake.nodes import Node, Share

_SECONDS = 60


def tick(cluster: Cluster) -> None:
    """Bring the cluster up to the present."""
    for job in tuple(cluster.running.values()):
        _end_when_due(cluster, job)
    for node in tuple(cluster.nodes.values()):
        _notice_silence(cluster, node)
        _end_completing(cluster, node)
    for job in sorted(cluster.waiting.values(), key=lambda job: (-job.priority, job.job_id)):
        _consider(cluster, job)
    oldest = cluster.now - cluster.settings.min_job_age
    for job in tuple(cluster.ended.values()):
        if 0.0 < job.completing_until <= cluster.now:
            job.completing_until = 0.0
            cluster.file(job)
        if job.end_time < oldest and not cluster.stands_for_others(job):
            cluster.forget(job)


def _end_when_due(cluster: Cluster, job: Job) -> None:
    limit = demand.number(job.record, "time_limit")
    if limit and cluster.now >= job.start_time + limit * _SECONDS:
        _finish_all(cluster, job, State.TIMEOUT, reason=Reason.TIME_LIMIT)
    elif cluster.now >= job.ends_at:
        failed = job.exit_code != 0
        state = State.FAILED if failed else State.COMPLETED
        _finish_all(cluster, job, state, reason=Reason.NON_ZERO_EXIT if failed else Reason.NONE)


def _finish_all(cluster: Cluster, job: Job, state: State, *, reason: Reason) -> None:
    for one in cluster.together(job):
        if not one.over:
            ending.finish(cluster, one, state, reason=reason)


def _end_completing(cluster: Cluster, node: Node) -> None:
    if 0.0 < node.completing_until <= cluster.now:
        node.completing_until = 0.0
        cluster.nodes_touched()


def _notice_silence(cluster: Cluster, node: Node) -> None:
    half = cluster.settings.slurmd_timeout / 2
    if node.down and node.alive and cluster.now >= node.reason_time + half:
        # ReturnToService=2: the next answer of a living slurmd ends an administrator's DOWN.
        node_admin.back_to_service(cluster, node)
    if node.alive or node.down:
        return
    silent = cluster.now - node.silent_since
    if silent >= cluster.settings.slurmd_timeout:
        node.not_responding = True
        ending.node_failed(cluster, node, reason="Not responding")
    elif silent >= half and not node.not_responding:
        node.not_responding = True
        cluster.nodes_touched()


def _consider(cluster: Cluster, job: Job) -> None:
    if job.dependency.conditions and (reason := _waits_for_others(cluster, job)):
        _wait(cluster, job, reason)
        return
    if job.held and job.reason is not Reason.BAD_CONSTRAINTS:
        return
    if job.eligible_time > cluster.now:
        _wait(cluster, job, Reason.BEGIN_TIME)
        return
    if not job.eligible_time:
        job.eligible_time = int(cluster.now)
    if job.reason is Reason.BAD_CONSTRAINTS:
        _recover(cluster, job)
        return
    able = cluster.able(job)
    if cluster.at_limit(job):
        _wait(cluster, job, Reason.ASSOC_MAX_JOBS)
    elif reason := _hopeless(cluster, job, able):
        _wait(cluster, job, reason)
    elif job.het_id:
        _try_together(cluster, job)
    else:
        _try(cluster, job, able)


def _waits_for_others(cluster: Cluster, job: Job) -> Reason | None:
    """Why a job with a dependency waits; None when its dependency is met.

    Of held jobs slurmctld looks at it only now and then. One that can never be met makes any hold an
    administrator's.
    """
    if job.held and cluster.now < job.recover_at:
        return job.reason
    before, job.dependency = job.dependency, dependency.looked_at(job.dependency, ending=cluster.ended_well)
    if job.dependency != before:
        cluster.file(job)
    if job.held:
        job.recover_at = cluster.now + cluster.settings.recovery
        return Reason.HELD_ADMIN if job.dependency.hopeless else job.reason
    if job.dependency.hopeless:
        return Reason.DEPENDENCY_HOPELESS
    return Reason.DEPENDENCY if job.dependency.conditions else None


def _hopeless(cluster: Cluster, job: Job, able: list[Node]) -> Reason | None:
    """Why a job could not run on its nodes even if they were empty; BadConstraints is a hold by Slurm."""
    if not cluster.has_cpus_for(job):
        return Reason.PARTITION_CPUS
    if len(cluster.nodes) < job.demand.min_nodes:
        return Reason.PARTITION_NODES
    if place(job.demand, [replace(node, shares={}) for node in able]):
        return None
    job.priority, job.recover_at = 0, cluster.now + cluster.settings.recovery
    return Reason.BAD_CONSTRAINTS


def _recover(cluster: Cluster, job: Job) -> None:
    if cluster.now < job.recover_at:
        return
    job.recover_at = cluster.now + cluster.settings.recovery
    if place(job.demand, [replace(node, shares={}) for node in cluster.able(job)]):
        job.priority = 1
        _wait(cluster, job, Reason.NONE)


def _try(cluster: Cluster, job: Job, able: list[Node]) -> None:
    while shares := _placement(cluster, job, able):
        last_task = len(job.tasks) <= 1
        row = job if last_task else job.split(cluster.new_id())
        if last_task and job.tasks:
            job.array_task = job.tasks.pop()
        _start(cluster, row, shares)
        if last_task:
            return
    away = all(node.down or node.drain for node in able)
    _wait(cluster, job, Reason.NODES_AWAY if away else Reason.RESOURCES)


def _try_together(cluster: Cluster, job: Job) -> None:
    """Components start at the same time; the first one's turn is the turn of all."""
    components = cluster.together(job)
    found = [_placement(cluster, one, cluster.able(one)) for one in components]
    ready = not any(one.held or one.eligible_time > cluster.now for one in components)
    if job.het_offset or not ready or not all(found):
        _wait(cluster, job, Reason.RESOURCES)
        return
    for one, shares in zip(components, found, strict=True):
        _start(cluster, one, shares or ())
        if one.het_offset:
            one.ends_at = math.inf  # the script runs on the first


def _placement(cluster: Cluster, job: Job, able: list[Node]) -> tuple[Share, ...] | None:
    running = sum(1 for other in cluster.running.values() if other.array_id == job.array_id)
    if job.array_limit and running >= job.array_limit:
        return None
    pinned = set(filter(None, job.record.get("required_nodes", "").split(",")))
    excluded = set(job.record.get("excluded_nodes", "").split(","))
    usable = [node for node in able if node.usable(cluster.now) and node.name not in excluded]
    # A name that is no node any more does not bind: slurmctld lets the job run elsewhere.
    wanted = [node for node in usable if node.name in pinned]
    if pinned & cluster.nodes.keys() and len(wanted) < len(pinned & cluster.nodes.keys()):
        return None
    return _place_alike(job, wanted or usable)


def _place_alike(job: Job, nodes: list[Node]) -> tuple[Share, ...] | None:
    """Of a constraint in brackets all nodes of the job have the same alternative."""
    for expression in features.alternatives(job.record.get("features", "")):
        alike = [node for node in nodes if features.matches(expression, node.features)]
        if found := place(job.demand, alike):
            return found
    return None


def _start(cluster: Cluster, job: Job, shares: tuple[Share, ...]) -> None:
    now = cluster.now
    job.state, job.reason, job.description = State.RUNNING, Reason.NONE, ""
    job.start_time, job.ends_at, job.shares = int(now), now + job.run_time, shares
    for share in shares:
        cluster.nodes[share.node].shares[job.job_id] = share
    if job.job_id in cluster.jobs:
        cluster.file(job)
    else:
        cluster.add(job)
    cluster.nodes_touched()


def _wait(cluster: Cluster, job: Job, reason: Reason) -> None:
    if job.reason is not reason:
        job.reason = reason
        cluster.file(job)
