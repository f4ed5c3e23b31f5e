"""Trials of many layouts at once on one real slurmctld.

Nodes are made by `scontrol create nodename=… State=CLOUD` from the very line that slurmd is given by --conf:
slurmctld's record of such a node is that of a slurmd's (a test compares them), it places jobs on it in the
same way, and a hundred of them cost no more than one slurmd. Nobody answers there: a job that started stays
CONFIGURING, which is all that has to be seen.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

import msgspec

from k8s_bridge.core import naming
from k8s_bridge.sandbox.slurm_real import RealSlurm
from k8s_bridge.slurm.client import wire_job
from k8s_bridge.slurm.hostlist import expand
from k8s_bridge.slurm.jobset import slurm_conf
from k8s_bridge.slurm.layout import Layout, Refusal, Shape, plan
from k8s_bridge.slurm.layout.features import pin
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.script import Fate, Identity, ScriptError, effects, read
from support.layout_less import lesser
from support.layout_sets import Case, simpler
from support.layout_trials import JUDGED, shapes_of

CONF = """
ResumeProgram=/bin/true
SuspendProgram=/bin/true
ResumeTimeout=600
SuspendTime=INFINITE
SchedulerParameters=sched_min_interval=0,bf_interval=1,batch_sched_delay=0,default_queue_depth=9999,bf_max_job_test=9999
NodeName=static[1-4] NodeAddr=127.0.0.1 CPUs=64 RealMemory=1000 Feature=avx,ib State=DOWN
"""
_POLL = 0.1
_PATIENCE = 60


class Outcome(Enum):
    """What became of a case."""

    REJECTED = auto()
    """sbatch itself does not take it."""
    REFUSED = auto()
    RUNS = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A case, its outcome, the option of a refusal, and what is wrong with it ("" is nothing)."""

    case: Case
    outcome: Outcome
    option: str = ""
    complaint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Offer:
    """A job and the nodes that it is offered: its whole layout, or that with `less` of something."""

    case: Case
    layout: Layout
    job: Job
    shapes: tuple[Shape, ...]
    less: str = ""

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(f"j{self.job.job_id}-{index}" for index in range(len(self.shapes)))


@dataclass(frozen=True, slots=True)
class _End:
    """What slurmctld made of an offer."""

    running: bool
    reason: str
    nodes: tuple[str, ...]

    @property
    def judged(self) -> bool:
        """Whether Slurm has tried."""
        return self.running or self.reason in JUDGED


async def judge(slurm: RealSlurm, cases: Sequence[Case]) -> list[Finding]:
    """Submit and plan each; offer the planned nodes, and to copies of the job the same with less."""
    submitted = await _submit(slurm, cases)
    records = await _records(slurm)
    found: list[Finding] = []
    whole: list[_Offer] = []
    for case, job_id in zip(cases, submitted, strict=True):
        if job_id is None:
            found.append(Finding(case=case, outcome=Outcome.REJECTED))
            continue
        job = records[job_id]
        planned = plan(job, node_shape=case.virtual, exclusive=case.exclusive)
        if isinstance(planned, Refusal):
            found.append(_refused(case, planned))
        else:
            whole.append(_Offer(case=case, layout=planned, job=job, shapes=tuple(shapes_of(planned))))
    return [*found, *_judged(await _ends(slurm, [*whole, *await _copies(slurm, whole)]))]


async def simplest(slurm: RealSlurm, finding: Finding) -> Finding:
    """What is left of a case that is wrong when everything that does not matter is taken away."""
    while True:
        tried = await judge(slurm, list(dict.fromkeys(simpler(finding.case))))
        less = next((found for found in tried if found.complaint), None)
        if less is None:
            return finding
        finding = less


async def _copies(slurm: RealSlurm, whole: Sequence[_Offer]) -> list[_Offer]:
    """Each job again, once for each thing that can be taken away from its nodes."""
    wanted = [(offer, *less) for offer in whole for less in lesser(offer.layout, job=offer.job)]
    ids = await _submit(slurm, [offer.case for offer, _, _ in wanted])
    return [
        _Offer(
            case=offer.case,
            layout=offer.layout,
            job=msgspec.structs.replace(offer.job, job_id=job_id),
            shapes=tuple(shapes),
            less=what,
        )
        for (offer, what, shapes), job_id in zip(wanted, ids, strict=True)
        if job_id is not None
    ]


def _judged(ends: Mapping[_Offer, _End]) -> Iterator[Finding]:
    complaints: dict[Case, list[str]] = {}
    for offer, end in ends.items():
        complaints.setdefault(offer.case, []).extend(_complaint(offer, end))
    for case, texts in complaints.items():
        yield Finding(case=case, outcome=Outcome.RUNS, complaint="; ".join(texts))


def _complaint(offer: _Offer, end: _End) -> Iterator[str]:
    if not end.judged:
        yield f"Slurm says {end.reason} for {_PATIENCE} s beside {_told(offer)} less {offer.less}"
    elif offer.less and end.running:
        yield f"starts without {offer.less} of {_told(offer)}"
    elif not offer.less and not end.running:
        yield f"waits for {end.reason} beside {_told(offer)}"
    elif not offer.less and end.nodes != offer.nodes:
        yield f"runs on {len(end.nodes)} nodes of {_told(offer)}"


def _told(offer: _Offer) -> str:
    return "; ".join(f"{group.count} of {group.shape}" for group in offer.layout.groups)


def _refused(case: Case, refusal: Refusal) -> Finding:
    """A refusal has to name an option that was given."""
    arguments = shlex.split(" ".join(case.options))
    try:
        (component,) = read("#!/bin/sh\n", environment={}, arguments=arguments, identity=Identity())
    except ScriptError:  # 22.05 takes what 24.11 does not
        return Finding(case=case, outcome=Outcome.REFUSED, option=refusal.option)
    told = effects(component, refusal)
    named = any(effect.fate is Fate.REFUSED and effect.where for effect in told)
    complaint = "" if named else f"refused for {refusal.option}, which was not given: {refusal.text}"
    return Finding(case=case, outcome=Outcome.REFUSED, option=refusal.option, complaint=complaint)


async def _submit(slurm: RealSlurm, cases: Iterable[Case]) -> list[int | None]:
    """The id of each job, held; None where sbatch refuses."""
    lines = [
        f"sbatch --parsable --hold {' '.join(case.options)} --wrap=true 2>/dev/null || echo refused\n"
        for case in cases
    ]
    words = (await slurm.world.run("sh", stdin="".join(lines))).split()
    return [None if word == "refused" else int(word) for word in words]


async def _records(slurm: RealSlurm) -> dict[int, Job]:
    jobs = (await slurm.get("jobs/"))["jobs"]
    found = (wire_job.job_of(msgspec.convert(raw, wire_job.WireJob), exclusive_known=True) for raw in jobs)
    return {job.job_id: job for job in found}


async def _ends(slurm: RealSlurm, offers: Sequence[_Offer]) -> dict[_Offer, _End]:
    """Make the nodes, pin and release, and wait for slurmctld's answer to each."""
    await slurm.world.run("scontrol", stdin="".join(line for offer in offers for line in _creation(offer)))
    await slurm.world.run("scontrol", stdin="".join(map(_release, offers)))
    ends: dict[int, _End] = {}
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        await asyncio.sleep(_POLL)
        out = await slurm.squeue("--all", "--states=all", "--format=%i|%T|%r|%N")
        ends |= {
            number: end for number, end in map(_end, out.splitlines()) if number not in ends or end.judged
        }
        if all(ends[offer.job.job_id].judged for offer in offers):
            break
        await _step_aside(slurm, ends)
    return {offer: ends[offer.job.job_id] for offer in offers}


async def _step_aside(slurm: RealSlurm, ends: Mapping[int, _End]) -> None:
    """Hold what was judged and waits for resources: nothing after it in the partition is looked at."""
    blocking = [str(number) for number, end in ends.items() if end.reason == "Resources"]
    if blocking:
        await slurm.scontrol("hold", ",".join(blocking))


def _end(line: str) -> tuple[int, _End]:
    number, state, reason, nodes = line.split("|")
    return int(number), _End(running=state in {"RUNNING", "CONFIGURING"}, reason=reason, nodes=expand(nodes))


def _creation(offer: _Offer) -> Iterator[str]:
    features = (naming.node_feature(offer.job.job_id), *offer.layout.features)
    for name, shape in zip(offer.nodes, offer.shapes, strict=True):
        conf = slurm_conf(shape, features=features)
        yield f"create nodename={name} NodeAddr=127.0.0.1 State=CLOUD {conf}\n"


def _release(offer: _Offer) -> str:
    job_id = offer.job.job_id
    expression = pin(offer.job.features, job_id=job_id)
    return f"update JobId={job_id} Features={expression}\nrelease {job_id}\n"
