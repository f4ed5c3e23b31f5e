"""The cause of each alert, made in a sandbox of its own: what somebody would find who is woken by it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from k8s_bridge.sandbox.apiserver.faults import Answer, Rule
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, LEASES, PODS, PRIORITYCLASSES, TOPOLOGIES
from k8s_bridge.sandbox.slurm_fake import FakeSlurm, Fault, FaultRule
from k8s_bridge.sandbox.world import JobRequest, World
from k8s_bridge.sandbox.world.config import NAMESPACE, NORMAL
from k8s_bridge.sandbox.world.fake_side import FakeSide
from support.adversary import Writes
from support.ray_sandbox import CLUSTER, RaySandbox
from support.ray_sandbox import NAMESPACE as SCIENCE

LONG = 120.0
PRODUCT_LEASE = "k8s-bridge-leader"


@dataclass(frozen=True, kw_only=True)
class Cause:
    """What is done to a world with a bridge at work, and the alert that it has to fire."""

    alert: str
    told: str
    make: Callable[[World], Awaitable[None]]
    before: Callable[[World], None] = lambda _: None
    """Done before the bridge starts."""
    writes: Callable[[], Writes] = Writes


class Hung(Writes):
    """Every write of the bridge hangs for ever."""

    async def through(self, name: str, call: Callable[[], Any]) -> Any:
        await asyncio.Event().wait()


def slurm(world: World) -> FakeSlurm:
    assert isinstance(world.slurm, FakeSide)
    return world.slurm.slurm


async def running(world: World, count: int) -> list[int]:
    ids = [await world.sbatch(JobRequest(ntasks=1, seconds=LONG)) for _ in range(count)]
    for job_id in ids:
        await world.until_state(job_id, "RUNNING", seconds=60)
    return ids


async def slurmctld_stops(world: World) -> None:
    await running(world, 1)
    await world.slurm.stop_controller()


def a_right_is_missing(world: World) -> None:
    world.server.faults.add(Rule(fault=Answer(code=403, reason="Forbidden"), verb="list", kind=TOPOLOGIES))


async def nothing_more(_: World) -> None:
    """It was done before."""


async def a_token_of_half_an_hour(world: World) -> None:
    world.write_token(slurm(world).mint("root", lifetime=1800))


async def a_pod_that_fits_on_no_machine(world: World) -> None:
    await world.sbatch(JobRequest(nodes="1", ntasks=20, seconds=LONG))


async def a_node_record_that_slurm_keeps(world: World) -> None:
    (job_id,) = await running(world, 1)
    slurm(world).inject(FaultRule(fault=Fault.STATUS, match="DELETE .*/node/"))
    (jobset,) = world.of_job(JOBSETS, job_id)
    world.delete(JOBSETS, jobset["metadata"]["name"])


async def slurmctld_without_its_state(world: World) -> None:
    await running(world, 4)
    slurm(world).stop_controller()
    slurm(world).start_controller(clean=True)


async def a_priority_class_is_deleted(world: World) -> None:
    world.delete(PRIORITYCLASSES, NORMAL)


async def slurmrestd_refuses_updates(world: World) -> None:
    slurm(world).inject(FaultRule(fault=Fault.STATUS, match="POST .*/job/"))
    for _ in range(6):
        await world.sbatch(JobRequest(seconds=LONG))


async def a_write_that_never_ends(world: World) -> None:
    await world.sbatch(JobRequest(seconds=LONG))


async def pods_die_again_and_again(world: World) -> None:
    ids = await running(world, 4)
    for times in (1, 2):
        for job_id in ids:
            await world.until_state(job_id, "RUNNING", seconds=60)
        for job_id in ids:
            for pod in world.of_job(PODS, job_id):
                world.delete(PODS, pod["metadata"]["name"], grace_seconds=0)
        for job_id in ids:
            await world.until(
                lambda job=job_id, least=times: world.jobs[job].restarts >= least,
                what=f"job {job_id} was requeued {times} times",
                seconds=60,
            )


async def work_on_the_workers_of_another(world: RaySandbox) -> None:
    """As somebody would leave it there who has a notebook on the head."""
    world.submit("confined", seconds=LONG)
    await world.until(lambda: world.status("confined") == "RUNNING", what="it runs", seconds=60)
    head = world.controllers.ray.at(SCIENCE, CLUSTER)
    assert head is not None
    (worker,) = [node for node in head.nodes.values() if not node.head]
    task = {"task_id": "1", "name": "intruder", "state": "RUNNING", "job_id": "99", "node_id": worker.node_id}
    head.tasks.append(task)


def somebody_else_holds_the_lease(world: World) -> None:
    spec = {"holderIdentity": "another-installation", "leaseDurationSeconds": 3600}
    meta = {"namespace": NAMESPACE, "name": PRODUCT_LEASE}
    world.storage.create(LEASES, {"metadata": meta, "spec": spec})


CAUSES = (
    Cause(alert="K8sBridgeSlurmAnswerOld", told="slurmctld is stopped", make=slurmctld_stops),
    Cause(
        alert="K8sBridgeBlocked",
        told="the bridge may not list Topologies",
        make=nothing_more,
        before=a_right_is_missing,
    ),
    Cause(
        alert="K8sBridgeTokenExpires",
        told="the token's file gets one of 30 minutes",
        make=a_token_of_half_an_hour,
    ),
    Cause(
        alert="K8sBridgeProvisioningStuck",
        told="a job's pod needs more CPUs than a machine has",
        make=a_pod_that_fits_on_no_machine,
    ),
    Cause(
        alert="K8sBridgeGhostNodes",
        told="slurmrestd refuses to delete nodes, and a JobSet is deleted by hand",
        make=a_node_record_that_slurm_keeps,
    ),
    Cause(
        alert="K8sBridgeDeletionsRefused",
        told="slurmctld starts without its state under 4 running jobs",
        make=slurmctld_without_its_state,
    ),
    Cause(
        alert="K8sBridgeMisconfigured",
        told="a WorkloadPriorityClass is deleted",
        make=a_priority_class_is_deleted,
    ),
    Cause(
        alert="K8sBridgeErrors",
        told="slurmrestd answers 500 to every update of a job",
        make=slurmrestd_refuses_updates,
    ),
    Cause(
        alert="K8sBridgeWedged",
        told="a call of the bridge never ends",
        make=a_write_that_never_ends,
        writes=Hung,
    ),
    Cause(
        alert="K8sBridgeRequeueStorm",
        told="the pods of 4 running jobs are killed, twice",
        make=pods_die_again_and_again,
    ),
)
