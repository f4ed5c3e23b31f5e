"""What a job asks for by its annotations, and why it does not get it."""

from __future__ import annotations

import pytest

from bench import ray_units as make
from k8s_bridge.ray.request import Refusal, Request, request_of


def asked(*, notes=None, **spec) -> Request | Refusal:
    return request_of(make.job(notes=notes, **spec), spec=make.SPEC)


def test_a_job_that_says_nothing_gets_the_default_of_everything():
    assert asked() == Request(
        workers=1,
        cpus=1000,
        gpus=0,
        memory=1024,
        queue="lq",
        priority_class="low",
        pool="default",
        max_requeues=3,
    )


def test_every_annotation_is_heeded():
    notes = {
        "pool": "urgent",
        "workers": "4",
        "worker-cpus": "0.5",
        "worker-gpus": "2",
        "worker-memory": "3Gi",
        "local-queue": "mine",
        "required-topology": "cloud.example.com/rack",
        "max-requeues": "1",
    }

    assert asked(notes=notes) == Request(
        workers=4,
        cpus=500,
        gpus=2,
        memory=3072,
        queue="mine",
        priority_class="high",
        pool="urgent",
        required_topology="cloud.example.com/rack",
        max_requeues=1,
    )


@pytest.mark.parametrize(
    ("notes", "queue"),
    [({}, "lq"), ({"pool": "urgent"}, "fast"), ({"pool": "urgent", "local-queue": "mine"}, "mine")],
    ids=["everybody's", "the pool's", "the job's"],
)
def test_the_jobs_queue_goes_before_the_pools_and_that_before_everybodys(notes, queue):
    request = asked(notes=notes)

    assert isinstance(request, Request)
    assert request.queue == queue


@pytest.mark.parametrize(("text", "mebibytes"), [("2Gi", 2048), ("1500", 1500), ("2147483648", 2048)])
def test_memory_is_exact(text, mebibytes):
    request = asked(notes={"worker-memory": text})

    assert isinstance(request, Request)
    assert request.memory == mebibytes


@pytest.mark.parametrize(
    ("notes", "why"),
    [
        ({"workers": "many"}, "not a whole number"),
        ({"workers": "0"}, "at least 1"),
        ({"workers": "-1"}, "not a whole number"),
        ({"workers": "٣"}, "not a whole number"),
        ({"workers": ""}, "not a whole number"),
        ({"workers": "9"}, "more than the 8"),
        ({"worker-cpus": "1e3"}, "not a number of CPUs"),
        ({"worker-cpus": "0"}, "needs CPU"),
        ({"worker-gpus": "half"}, "not a whole number"),
        ({"worker-memory": "lots"}, "not a memory size"),
        ({"worker-memory": "0"}, "needs memory"),
        ({"local-queue": "No Queue"}, "not the name of a LocalQueue"),
        ({"required-topology": "a b"}, "not the label"),
        ({"max-requeues": "∞"}, "not a whole number"),
        ({"accepted": "suspended"}, "suspend"),
    ],
)
def test_what_cannot_be_read_or_given_is_refused_with_the_reason(notes, why):
    refusal = asked(notes=notes)

    assert isinstance(refusal, Refusal)
    assert refusal.reason == "InvalidSpec"
    assert why in refusal.text


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"backoffLimit": 1}, "backoffLimit"),
        ({"suspend": True}, "suspend"),
        ({"submissionMode": "SidecarMode"}, "SidecarMode"),
        ({"entrypointResources": "[1]"}, "entrypointResources"),
        ({"entrypointResources": "{"}, "Expecting"),
        ({"runtimeEnvYAML": "a: [b"}, "runtimeEnvYAML"),
        ({"runtimeEnvYAML": "- a"}, "runtimeEnvYAML"),
        ({"runtimeEnvYAML": "env_vars: [a]"}, "env_vars"),
        ({"runtimeEnvYAML": "a: 2026-01-01"}, "JSON"),
        ({"runtimeEnvYAML": "a: &a [1]\nb: [*a, *a]"}, "aliases"),
        ({"runtimeEnvYAML": f"a: {'[' * 5000}{']' * 5000}"}, "nests too deep"),
        ({"runtimeEnvYAML": f"a: {'b' * 2**16}"}, "more than 65536"),
        ({"entrypointResources": f'{{"a": {"[" * 5000}{"]" * 5000}}}'}, "nests too deep"),
    ],
)
def test_what_kuberay_or_ray_could_not_do_is_refused_with_the_reason(spec, why):
    refusal = asked(**spec)

    assert isinstance(refusal, Refusal)
    assert why in refusal.text


def test_a_pool_that_nobody_mapped_is_named_with_those_that_are():
    refusal = asked(notes={"pool": "mine"})

    assert isinstance(refusal, Refusal)
    assert refusal.reason == "UnmanagedPool"
    assert "default, urgent" in refusal.text


def test_nobody_runs_more_often_than_the_configuration_allows():
    request = asked(notes={"max-requeues": "99"})

    assert isinstance(request, Request)
    assert request.max_requeues == 3
