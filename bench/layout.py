"""Scenario `layout`: what it costs to plan one job, in CPU time of this process."""

from __future__ import annotations

import shlex
from statistics import median
from time import process_time

from bench.report import Result
from k8s_bridge.slurm.layout import Exclusive, Layout, NodeShape, plan
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.script import Identity, read

HEADERS = (
    "",
    "--mem=8G",
    "-N2 -n4",
    "--gres=gpu:a100:2",
    "-n64 --mem-per-cpu=2G",
    "-N4 --ntasks-per-node=16 -c2",
    "-N16 -n100 --mem-per-cpu=1G",
    "-N2 --ntasks-per-node=1 --gpus-per-node=8 -c16 --mem=256G",
    "-n8 --gpus-per-task=1 -c8",
    "-N3 -n12 --gpus=4 --mem-per-gpu=20G",
    "--gpus=4 --cpus-per-gpu=8",
    "-N2-8 -n16 --exclusive -C 'skylake&ib'",
)
_SHAPE = NodeShape(cpus=32, memory=256_000, gpus=8)
_BATCH = 2_000
_BATCHES = 7


def run() -> Result:
    """Microseconds per job, the best of several batches; AssertionError when a job gets no layout."""
    found = [_microseconds(job) for job in map(_job, HEADERS)]
    return Result(
        scenario="layout",
        measured={"layout.median_us": median(found), "layout.worst_us": max(found)},
        detail=dict(zip(HEADERS, found, strict=True)),
    )


def _job(header: str) -> Job:
    (component,) = read("#!/bin/sh\n", environment={}, arguments=shlex.split(header), identity=Identity())
    planned = plan(component.job, node_shape=_SHAPE, exclusive=Exclusive.AS_ASKED)
    assert isinstance(planned, Layout), f"{header}: {planned}"
    return component.job


def _microseconds(job: Job) -> float:
    return min(_batch(job) for _ in range(_BATCHES)) * 1e6 / _BATCH


def _batch(job: Job) -> float:
    """Seconds."""
    began = process_time()
    for _ in range(_BATCH):
        plan(job, node_shape=_SHAPE, exclusive=Exclusive.AS_ASKED)
    return process_time() - began
