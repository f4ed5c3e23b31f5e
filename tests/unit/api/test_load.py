from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from api.load import InvalidWorkloadMixing, parse_workloadmixing
from api.v1alpha1 import DeletionPolicy, NoRequeuePolicy, RefusedJobPolicy, SecretKeyRef


def problems(data):
    with pytest.raises(InvalidWorkloadMixing) as caught:
        parse_workloadmixing(data)
    return {problem.path: f"{problem.why}; {problem.fix}" for problem in caught.value.problems}


def test_a_minimal_resource_of_the_prototype_gets_the_prototypes_defaults(sample):
    spec = parse_workloadmixing(sample("prototype-minimal")).spec
    assert spec.slurm_rest_url == "https://slurm-restapi.slurm:6820"
    assert spec.poll_interval == timedelta(seconds=10)
    assert spec.slurm_request_timeout == timedelta(seconds=30)
    assert spec.slurm_requests_per_second == 0
    assert spec.create_workers == 8
    assert spec.orphan_grace_ticks == 3
    assert spec.failed_job_set_retention == timedelta()
    assert spec.slurmd.gpu_resource_name == "nvidia.com/gpu"
    assert spec.slurmd.privileged is True
    assert spec.slurmd.shared_storage is None
    assert spec.deletion_policy is DeletionPolicy.ORPHAN
    switches = (
        spec.allow_insecure_http,
        spec.slurm_insecure_skip_tls_verify,
        spec.enable_priority_sync,
        spec.cancel_orphaned_jobs,
        spec.drain_on_preemption,
        spec.adopt_unheld,
    )
    assert not any(switches)


def test_a_full_resource_of_the_prototype_keeps_every_value(sample):
    data = sample("prototype-full")
    mixing = parse_workloadmixing(data)
    written = mixing.document()["spec"]
    same = data["spec"] | {"pollInterval": "1s500ms", "failedJobSetRetention": "7d"}
    assert {field: written[field] for field in same if field not in ("partitionMappings", "slurmd")} == {
        field: value for field, value in same.items() if field not in ("partitionMappings", "slurmd")
    }
    assert same["slurmd"].items() <= written["slurmd"].items()
    for given, kept in zip(same["partitionMappings"], written["partitionMappings"], strict=True):
        assert given.items() <= kept.items()


def test_everything_that_can_be_said_is_understood(sample):
    mixing = parse_workloadmixing(sample("everything"))
    spec, batch = mixing.spec, mixing.spec.partition_mappings[0]
    assert spec.slurm_token_secret_ref == SecretKeyRef(name="slurm-token", key="jwt")
    assert spec.provision_timeout == timedelta(minutes=90)
    assert spec.start_timeout == timedelta(days=1)
    assert spec.failed_job_set_retention == timedelta(days=6, hours=23, minutes=30)
    assert (spec.no_requeue_policy, spec.refused_job_policy) == (
        NoRequeuePolicy.REQUEUE,
        RefusedJobPolicy.HOLD,
    )
    assert batch.node_shape is not None
    assert (batch.node_shape.cpus, batch.node_shape.memory, batch.node_shape.gpus) == (64, 262_144, 8)
    assert batch.queue_rules[0].wckey == "w1"
    assert batch.features[0].node_selector == {"example.com/gpu": "a100"}
    assert spec.slurmd.memory_overhead == 512
    assert spec.slurmd.gres_resources[1].device_class_name == "rdma.example.com"
    assert spec.ray is not None
    assert spec.ray.worker.default_cpus == 0.5
    assert mixing.status.counts.nodes == 8
    assert mixing.status.last_successful_poll == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_zero_and_empty_ask_for_the_default_as_in_the_prototype(sample):
    spec = parse_workloadmixing(sample("everything")).spec
    assert spec.poll_interval == timedelta(seconds=10)
    assert spec.create_workers == 8
    assert spec.orphan_grace_ticks == 3
    assert spec.slurmd.gpu_resource_name == "nvidia.com/gpu"
    data = sample("prototype-minimal")
    data["spec"]["failedJobSetRetention"] = ""
    assert parse_workloadmixing(data).spec.failed_job_set_retention == timedelta()


@pytest.mark.parametrize(
    ("retention", "fits"),
    [
        ("7d", True),
        ("6d23h60m", True),
        ("168h0.9ms", True),
        ("7d1ms", False),
        ("168h1ms", False),
        ("8d", False),
    ],
)
def test_bounds_are_compared_in_milliseconds_as_the_api_server_does(sample, retention, fits):
    data = sample("prototype-minimal")
    data["spec"]["failedJobSetRetention"] = retention
    if fits:
        assert parse_workloadmixing(data)
    else:
        assert list(problems(data)) == ["spec.failedJobSetRetention"]


def test_what_is_written_reads_back_the_same(sample):
    mixing = parse_workloadmixing(sample("everything"))
    assert parse_workloadmixing(mixing.document()) == mixing


def test_a_pod_template_is_kept_word_for_word_even_its_nulls(sample):
    data = sample("everything")
    kept = parse_workloadmixing(data).spec.partition_mappings[0].pod_template
    assert kept == data["spec"]["partitionMappings"][0]["podTemplate"]


def test_null_means_absent(sample):
    data = sample("prototype-minimal")
    data["spec"] |= {"topology": None, "createWorkers": None, "ray": None}
    assert parse_workloadmixing(data).spec.create_workers == 8
    data["spec"]["localQueue"] = None
    assert "is required" in problems(data)["spec.localQueue"]


def test_all_errors_are_reported_together_with_where_why_and_what_to_do(sample):
    data = sample("prototype-minimal")
    spec = data["spec"]
    spec |= {"slurmRestURL": "http://plain:6820", "pollInterval": "500ms", "deletionPolicy": "drain"}
    spec["slurmd"] |= {"privilegd": True, "memoryOverhead": "10"}
    spec["partitionMappings"] += [
        {"partitionName": "mixing", "workloadPriorityClass": "low"},
        {"partitionName": "other"},
    ]
    assert problems(data) == {
        "spec.slurmRestURL": "must use https, or the Slurm token travels in cleartext; "
        "use an https URL, or set allowInsecureHTTP: true for development",
        "spec.pollInterval": "500ms is out of range; choose a duration of at least 1s",
        "spec.deletionPolicy": "'drain' is not a choice; choose 'Orphan' or 'Drain'",
        "spec.slurmd.privilegd": "is not a field; did you mean privileged?",
        "spec.slurmd.memoryOverhead": "'10' is less than 1Mi (a number without unit is bytes); "
        "write a size such as 512Mi or 64Gi",
        "spec.partitionMappings[1].partitionName": "'mixing' is already in entry [0]; "
        "keep one of the two: the second would never be used",
        "spec.partitionMappings[2].workloadPriorityClass": "is required; "
        "expected: WorkloadPriorityClass of the partition's jobs.",
    }


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"slurmTokenFile": "/t", "slurmTokenSecretRef": {"name": "t"}}, "spec.slurmTokenSecretRef"),
        ({"slurmCACertFile": "/c", "slurmCARef": {"name": "c"}}, "spec.slurmCARef"),
        ({"slurmRestURL": "https://"}, "spec.slurmRestURL"),
        ({"slurmRestURL": "slurm:6820"}, "spec.slurmRestURL"),
        ({"slurm_user": "x"}, "spec.slurm_user"),
        ({"createWorkers": "8"}, "spec.createWorkers"),
        ({"createWorkers": 257}, "spec.createWorkers"),
        ({"createWorkers": True}, "spec.createWorkers"),
        ({"adoptUnheld": "true"}, "spec.adoptUnheld"),
        ({"slurmRequestTimeout": "11m"}, "spec.slurmRequestTimeout"),
        ({"slurmRequestsPerSecond": -0.5}, "spec.slurmRequestsPerSecond"),
        ({"failedJobSetRetention": "7d1s"}, "spec.failedJobSetRetention"),
        ({"maxUserPriority": 2**31}, "spec.maxUserPriority"),
        ({"slurmApiVersion": "v0.0.37"}, "spec.slurmApiVersion"),
        ({"partitionMappings": []}, "spec.partitionMappings"),
        ({"partitionMappings": {}}, "spec.partitionMappings"),
        ({"slurmd": []}, "spec.slurmd"),
        ({"localQueue": ""}, "spec.localQueue"),
    ],
)
def test_each_bound_and_rule_holds(sample, change, path):
    data = sample("prototype-minimal")
    data["spec"] |= change
    assert list(problems(data)) == [path]


@pytest.mark.parametrize(
    ("where", "entry", "path"),
    [
        ("gresResources", {"gres": "card"}, "spec.slurmd.gresResources[2]"),
        (
            "gresResources",
            {"gres": "x", "resourceName": "a/b", "deviceClassName": "c"},
            "spec.slurmd.gresResources[2]",
        ),
        ("gresResources", {"gres": "nic", "resourceName": "a/b"}, "spec.slurmd.gresResources[2].gres"),
        ("resourceClaims", {"name": "lonely"}, "spec.slurmd.resourceClaims[2]"),
        (
            "resourceClaims",
            {"name": "shared", "resourceClaimName": "x"},
            "spec.slurmd.resourceClaims[2].name",
        ),
    ],
)
def test_rules_hold_in_lists_too(sample, where, entry, path):
    data = sample("everything")
    data["spec"]["slurmd"][where].append(entry)
    assert list(problems(data)) == [path]


def test_a_rule_that_sends_nowhere_is_refused(sample):
    data = sample("everything")
    data["spec"]["partitionMappings"][0]["queueRules"].append({"user": "alice"})
    assert problems(data) == {
        "spec.partitionMappings[0].queueRules[2]": "changes nothing; set localQueue or workloadPriorityClass"
    }


def test_an_unreadable_status_does_not_stop_a_good_spec(sample):
    data = sample("everything")
    data["status"] = {"conditions": "none", "newerField": 1}
    assert parse_workloadmixing(data).status.conditions == ()


def test_foreign_metadata_and_newer_status_fields_are_passed_over(sample):
    data = sample("everything")
    data["metadata"] |= {"managedFields": [{"manager": "x"}], "uid": "u-1", "generation": 4}
    data["status"]["newerField"] = 1
    mixing = parse_workloadmixing(data)
    assert (mixing.metadata.uid, mixing.metadata.generation, mixing.status.counts.held) == ("u-1", 4, 1)


def test_another_kind_is_refused(sample):
    data = sample("prototype-minimal") | {"kind": "ConfigMap"}
    assert list(problems(data)) == ["kind"]


def test_a_spec_is_frozen(sample):
    spec = parse_workloadmixing(sample("prototype-minimal")).spec
    with pytest.raises(ValueError, match="frozen"):
        spec.local_queue = "other"


RAY = {
    "localQueue": "science",
    "managedClusters": [{"name": "shared"}],
    "poolMappings": [{"pool": "default", "workloadPriorityClass": "low"}],
}


def test_a_mixing_may_be_for_ray_alone():
    spec = parse_workloadmixing({"metadata": {"name": "ray"}, "spec": {"ray": RAY}}).spec
    assert spec.ray is not None
    assert not spec.has_slurm
    assert (spec.slurm_rest_url, spec.local_queue, spec.partition_mappings) == ("", "", ())


@pytest.mark.parametrize("beside", [{}, {"ray": RAY}])
@pytest.mark.parametrize("field", ["slurmRestURL", "localQueue", "partitionMappings", "slurmd"])
def test_a_slurm_cluster_is_named_in_full(sample, beside, field):
    data = sample("prototype-minimal")
    del data["spec"][field]
    data["spec"] |= beside
    assert problems(data) == {
        f"spec.{field}": "is required; add it, or leave all of slurmRestURL, localQueue, partitionMappings, "
        "slurmd out and give ray: then there is no Slurm"
    }


def test_a_mixing_of_nothing_lacks_everything():
    assert len(problems({"metadata": {"name": "none"}, "spec": {}})) == 4
