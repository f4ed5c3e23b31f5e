from __future__ import annotations

import pytest

from api.load import parse_workloadmixing
from k8s_bridge.runtime.gates import Gates, Transport, problems
from k8s_bridge.runtime.images import BadImage, parse_image, parse_rule

DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64


def mixing(*, image="registry.example.com/hpc/slurmd:24.11", template=None, **spec):
    mapping = {"partitionName": "cpu", "workloadPriorityClass": "normal"}
    if template is not None:
        mapping["podTemplate"] = template
    return parse_workloadmixing(
        {
            "metadata": {"name": "main", "namespace": "hpc"},
            "spec": {
                "slurmRestURL": "https://slurm.example.com:6820",
                "localQueue": "hpc",
                "partitionMappings": [mapping],
                "slurmd": {"image": image, "confServer": "ctl:6817", "authSecretName": "slurm"},
                **spec,
            },
        }
    )


def paths(found):
    return [problem.path for problem in found]


@pytest.mark.parametrize(
    ("rule", "image", "allowed"),
    [
        ("registry.example.com/hpc/slurmd", "registry.example.com/hpc/slurmd:24.11", True),
        ("registry.example.com/hpc/slurmd", f"registry.example.com/hpc/slurmd@{OTHER}", True),
        ("registry.example.com/hpc/slurmd", "registry.example.com/hpc/slurmd-evil:1", False),
        ("registry.example.com/hpc/slurmd", "registry.example.com/hpc/slurmd/evil:1", False),
        ("registry.example.com/", "registry.example.com/a/b:1", True),
        ("registry.example.com/", "registry.example.com.evil.org/a/b:1", False),
        ("registry.example.com/*", "registry.example.com/a:1", True),
        ("registry.example.com/hpc/", "registry.example.com/hpc-evil/slurmd", False),
        ("registry.example.com/", "registry.example.com:5000/a", False),
        ("registry.example.com:5000/", "registry.example.com:5000/a", True),
        ("r.io/a/slurmd:24.11", "r.io/a/slurmd:24.11", True),
        ("r.io/a/slurmd:24.11", "r.io/a/slurmd:latest", False),
        ("r.io/a/slurmd:24.11", "r.io/a/slurmd", False),
        ("r.io/a/slurmd:24.11", f"r.io/a/slurmd:24.11@{OTHER}", False),  # the digest is what is pulled
        (f"r.io/a/slurmd@{DIGEST}", f"r.io/a/slurmd@{DIGEST}", True),
        (f"r.io/a/slurmd@{DIGEST}", f"r.io/a/slurmd:any@{DIGEST}", True),
        (f"r.io/a/slurmd@{DIGEST}", f"r.io/a/slurmd@{OTHER}", False),
        (f"r.io/a/slurmd@{DIGEST}", "r.io/a/slurmd:24.11", False),
        ("slurmd", "docker.io/library/slurmd:1", True),
        ("docker.io/", "team/slurmd", True),
        ("docker.io/team/", "index.docker.io/team/slurmd:1", True),
        ("team/", "registry.example.com/team/slurmd", False),
        ("REGISTRY.example.com/a/", "registry.EXAMPLE.com/a/b", True),
    ],
)
def test_image_rules_end_at_the_borders_that_registries_know(rule, image, allowed):
    assert parse_rule(rule).allows(parse_image(image)) is allowed
    found = problems(mixing(image=image), Gates(images=(rule,)))
    assert paths(found) == ([] if allowed else ["spec.slurmd.image"])


@pytest.mark.parametrize(
    "text", ["", "UPPER/case", "a b", "r.io/../x", "r.io/a:tag:tag", "r.io/a@md5:1", "a//b"]
)
def test_what_is_no_image_is_refused(text):
    with pytest.raises(BadImage):
        parse_image(text)


def test_a_rule_that_reads_as_a_registry_says_how_to_write_it():
    with pytest.raises(ValueError, match=r"registry\.example\.com/ to allow all"):
        Gates(images=("registry.example.com",))


def test_every_image_in_a_pod_template_is_checked():
    template = {
        "spec": {
            "initContainers": [{"name": "prepare", "image": "evil.io/init"}],
            "containers": [{"name": "side", "image": "registry.example.com/ok:1"}, {"image": "evil.io/side"}],
            "volumes": [{"name": "data", "image": {"reference": "evil.io/data"}}],
        }
    }
    found = problems(mixing(template=template), Gates(images=("registry.example.com/",)))
    where = "spec.partitionMappings[0].podTemplate.spec"
    assert paths(found) == [
        f"{where}.initContainers[0].image",
        f"{where}.containers[1].image",
        f"{where}.volumes[0].image.reference",
    ]


def test_an_image_that_is_a_template_cannot_be_proven_and_is_refused():
    template = {"spec": {"containers": [{"image": "registry.example.com/{{ user }}"}]}}
    found = problems(mixing(template=template), Gates(images=("registry.example.com/",)))
    assert "template" in found[0].why


@pytest.mark.parametrize(
    ("allowed", "file", "fine"),
    [
        ("/var/run/slurm", "/var/run/slurm/token", True),
        ("/var/run/slurm/token", "/var/run/slurm/token", True),
        ("/var/run/slurm", "/var/run/slurm-evil/token", False),
        ("/var/run/slurm", "/var/run/slurm/../secrets/token", False),
        ("/var/run/slurm", "var/run/slurm/token", False),
        ("/var/run/slurm", "", True),
    ],
)
def test_token_files_lie_within_allowed_folders(allowed, file, fine):
    found = problems(mixing(slurmTokenFile=file), Gates(token_paths=(allowed,)))
    assert paths(found) == ([] if fine else ["spec.slurmTokenFile"])


def test_an_allowed_token_path_must_be_absolute():
    with pytest.raises(ValueError, match="absolute"):
        Gates(token_paths=("secrets/../x",))


@pytest.mark.parametrize(
    ("rule", "url", "fine"),
    [
        ("slurm.example.com", "https://slurm.example.com:6820", True),
        ("slurm.example.com", "https://SLURM.example.com./x", True),
        ("slurm.example.com:6820", "https://slurm.example.com:6820", True),
        ("slurm.example.com:6820", "https://slurm.example.com:6821", False),
        ("slurm.example.com:443", "https://slurm.example.com", True),
        ("slurm.example.com", "https://slurm.example.com.evil.org", False),
        ("slurm.example.com", "https://slurm.example.com@evil.org", False),
        ("evil.org", "https://slurm.example.com@evil.org", False),
        ("slurm.example.com", "https://evil.org\\@slurm.example.com", False),
        ("*.example.com", "https://a.b.example.com", True),
        ("*.example.com", "https://example.com", False),
        ("*.example.com", "https://evilexample.com", False),
        ("[::1]:6820", "https://[::1]:6820", True),
        ("slurm.example.com", "https://slurm.example.com:99999", False),
    ],
)
def test_hosts_are_compared_as_hosts(rule, url, fine):
    found = problems(mixing(slurmRestURL=url), Gates(slurm_hosts=(rule,)))
    assert paths(found) == ([] if fine else ["spec.slurmRestURL"])


def test_insecure_transport_needs_the_platform_whatever_the_resource_says():
    spec = mixing(
        slurmRestURL="http://slurm.example.com:6820",
        allowInsecureHTTP=True,
        slurmInsecureSkipTLSVerify=True,
    )
    assert paths(problems(spec, Gates())) == ["spec.slurmRestURL", "spec.slurmInsecureSkipTLSVerify"]
    assert problems(spec, Gates(transport=Transport.INSECURE)) == ()


def test_all_problems_are_told_together_each_with_a_next_step():
    gates = Gates(images=("r.io/",), token_paths=("/run",), slurm_hosts=("other",))
    found = problems(mixing(slurmTokenFile="/etc/passwd"), gates)
    assert paths(found) == ["spec.slurmd.image", "spec.slurmTokenFile", "spec.slurmRestURL"]
    assert all(problem.fix for problem in found)


def test_without_gates_everything_with_verified_tls_is_fine():
    assert problems(mixing(slurmTokenFile="/anywhere"), Gates()) == ()


def test_gates_of_slurm_leave_a_mixing_alone_that_has_no_slurm():
    ray = {
        "localQueue": "science",
        "managedClusters": [{"name": "shared"}],
        "poolMappings": [{"pool": "default", "workloadPriorityClass": "low"}],
    }
    spec = parse_workloadmixing({"metadata": {"name": "ray", "namespace": "science"}, "spec": {"ray": ray}})
    assert problems(spec, Gates(images=("r.io/",), slurm_hosts=("slurm",), token_paths=("/t",))) == ()
