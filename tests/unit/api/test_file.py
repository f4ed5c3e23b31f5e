from __future__ import annotations

from textwrap import dedent

import pytest

from api.load import InvalidWorkloadMixing, load_file, load_ray_file


def complaints(text, *, load=load_file):
    with pytest.raises(InvalidWorkloadMixing) as caught:
        load(text)
    return [(problem.line, problem.path, problem.why) for problem in caught.value.problems]


BARE = dedent("""\
    slurmRestURL: https://slurm:6820
    localQueue: main
    partitionMappings:
      - partitionName: batch
        workloadPriorityClass: normal
    slurmd:
      image: slurmd
      confServer: slurm:6817
      authSecretName: slurm-auth
    """)


def test_a_file_may_hold_the_whole_resource(text):
    mixing = load_file(text("prototype-full"))
    assert (mixing.metadata.namespace, mixing.metadata.name) == ("slurm-jobs", "full")


def test_a_file_may_hold_the_spec_alone():
    mixing = load_file(BARE, name="site", namespace="hpc")
    assert (mixing.metadata.namespace, mixing.metadata.name) == ("hpc", "site")
    assert mixing.spec.partition_mappings[0].partition_name == "batch"


def test_the_prototypes_file_names_its_namespace_beside_the_spec():
    assert load_file(f"namespace: slurm-jobs\n{BARE}").metadata.namespace == "slurm-jobs"


def test_errors_carry_the_lines_they_are_in_and_the_paths_of_the_file():
    text = BARE.replace("localQueue: main", "localQueue: 5").replace("image: slurmd", "imge: slurmd")
    assert complaints(text) == [
        (2, "localQueue", "must be a text"),
        (6, "slurmd.image", "is required"),
        (7, "slurmd.imge", "is not a field"),
    ]


def test_broken_rules_carry_lines_too():
    text = BARE.replace("https://slurm", "http://slurm")
    assert complaints(text) == [
        (1, "slurmRestURL", "must use https, or the Slurm token travels in cleartext")
    ]


def test_a_repeated_key_is_an_error_at_its_second_place():
    text = BARE.replace("  confServer", "  image: other\n  confServer")
    assert complaints(text) == [(8, "slurmd.image", "appears twice, first in line 7")]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("", 0, "is empty"),
        ("# nothing", 0, "is empty"),
        ("- a\n- b", 1, "is not an object"),
        ("a: 1\nb: [", 2, "is not YAML"),
        ("a: 1\n---\nb: 2", 2, "is not YAML: expected a single document"),
        ("\na: *nowhere", 2, "is not YAML: found undefined alias"),
        ("a: \x00", 0, "is not YAML"),
        ("[" * 50_000, 0, "is nested beyond reason"),
        ("a: &a [*a]", 0, "is nested or repeated beyond reason"),
        ("a: " + "9" * 200, 1, "is far too large"),
        ("a: 1e999", 1, "is far too large"),
        ("? [a]\n: b", 1, "has a key that is not a word"),
        ("a: !!python/name:os.system x", 1, "has the tag python/name:os.system"),
        ("a" * (1 << 20) + "b", 0, "has 1048577 characters"),
    ],
)
def test_what_is_not_one_plain_document_is_refused(text, line, why):
    ((at, _, what),) = complaints(text)
    assert at == line
    assert what.startswith(why)


def test_aliases_that_multiply_are_refused_in_good_time():
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
    )
    assert complaints(text) == [(0, "document", "is nested or repeated beyond reason")]


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "1:30", "2026-01-02", "0x10", "1_0"])
def test_words_that_older_yaml_twists_stay_words(word):
    assert load_file(BARE.replace("localQueue: main", f"localQueue: {word}")).spec.local_queue == word


@pytest.mark.parametrize(
    ("word", "value"), [("true", True), ("False", False), ("TRUE", True), ("~", False), ("", False)]
)
def test_switches_are_true_or_false_and_nothing_means_the_default(word, value):
    assert load_file(f"{BARE}adoptUnheld: {word}\n").spec.adopt_unheld is value


@pytest.mark.parametrize(("word", "value"), [("2", 2.0), ("2.5", 2.5), (".5", 0.5), ("1e3", 1000.0)])
def test_numbers(word, value):
    assert load_file(f"{BARE}slurmRequestsPerSecond: {word}\n").spec.slurm_requests_per_second == value


RAY = dedent("""\
    namespace: ray-jobs
    localQueue: ray
    managedClusters:
      - {name: shared, headAddress: "shared-head:6379"}
    poolMappings:
      - {pool: default, workloadPriorityClass: normal}
    worker: {image: "rayproject/ray:2.50.0", defaultWorkers: 0, defaultCpus: 0, defaultMemoryMB: 0}
    """)


def test_the_prototypes_ray_file_loads_with_its_defaults():
    ray = load_ray_file(RAY)
    assert ray.managed_clusters[0].head_address == "shared-head:6379"
    worker = ray.worker
    assert (worker.default_workers, worker.default_cpus, worker.default_memory_mb) == (1, 1, 1024)
    assert worker.privileged is False


def test_errors_of_a_ray_file_carry_lines():
    found = complaints(RAY.replace("pool: default", "pol: default"), load=load_ray_file)
    assert sorted(found) == [
        (6, "poolMappings[0].pol", "is not a field"),
        (6, "poolMappings[0].pool", "is required"),
    ]
