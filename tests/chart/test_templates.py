from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from support.chart import CASES, CHART, GOLDENS, Refused, helm, render, template, values_of

from k8s_bridge.cli.main import main
from k8s_bridge.cli.options import settings_options, to_settings
from k8s_bridge.cli.remote import TOKEN_FILE
from k8s_bridge.runtime.gates import Gates, Transport
from k8s_bridge.runtime.settings import Bind, LogFormat, Settings
from monitoring.alerts import ALERTS, RUNBOOKS
from monitoring.dashboards import DASHBOARDS, document

EVERYTHING, DEFAULT, RAY, WEBHOOK = (
    next(case for case in CASES if case.stem == name)
    for name in ("everything", "default", "ray", "ray-webhook")
)


def only(kind: str, objects: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = [obj for obj in objects if obj["kind"] == kind]
    return found


def settings(values: dict[str, Any]) -> Settings:
    """What `k8s-bridge run` makes of the Deployment's arguments."""
    container = only("Deployment", render(values))["spec"]["template"]["spec"]["containers"][0]
    command, *words = container["args"]
    assert command == "run"
    found: list[Settings] = []

    @click.command
    @settings_options
    def run(**options: Any) -> None:
        found.append(to_settings(options))

    run.main(words, standalone_mode=False)
    return found[0]


def to_settings_by_environment(environment: dict[str, str]) -> Settings:
    """What `k8s-bridge run` makes of its environment."""
    found: list[Settings] = []

    @click.command
    @settings_options
    def run(**options: Any) -> None:
        found.append(to_settings(options))

    CliRunner().invoke(run, [], env=environment, catch_exceptions=False)
    return found[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_each_case_renders_as_it_did(case):
    golden = (GOLDENS / case.name).read_text()
    assert template(values_of(case)) == golden, "meant? PYTHONPATH=tests python -m support.chart"


def test_helm_finds_no_fault():
    subprocess.run([str(helm()), "lint", "--strict", CHART], check=True)


def test_every_value_for_the_process_reaches_it():
    assert settings(values_of(EVERYTHING)) == Settings(
        kubeconfig=Path("/etc/bridge/kubeconfig"),
        namespaces=("hpc", "science"),
        lease_name="the-leader",
        http=Bind(host="::", port=9090),
        log_level="debug",
        log_format=LogFormat.CONSOLE,
        workers=16,
        gates=Gates(
            images=("registry.example/",),
            token_paths=("/var/run/slurm",),
            slurm_hosts=("*.slurm",),
            transport=Transport.INSECURE,
        ),
    )


def test_without_values_the_process_serves_the_releases_namespace_behind_closed_gates():
    assert settings({}) == Settings(
        namespaces=("platform",),
        lease_name="k8s-bridge-leader",
        http=Bind(host="0.0.0.0", port=8080),
        log_format=LogFormat.JSON,
        gates=Gates(transport=Transport.VERIFIED),
    )


@pytest.mark.parametrize("case", [EVERYTHING, RAY], ids=lambda case: case.stem)
def test_the_token_of_the_page_is_mounted_where_server_and_commands_look_for_it(case):
    pod = only("Deployment", render(values_of(case)))["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    named = {entry["name"]: entry["value"] for entry in container["env"]}
    folders = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert named[TOKEN_FILE] == f"{folders['http-token']}/token"
    assert to_settings_by_environment({TOKEN_FILE: named[TOKEN_FILE]}).http_token == Path(named[TOKEN_FILE])


def test_a_zero_stays_a_zero():
    objects = render(values_of(EVERYTHING) | {"slurmBridge": {"namespaces": ["hpc"], "replicas": 0}})
    assert only("Deployment", objects)["spec"]["replicas"] == 0
    assert only("WorkloadMixing", objects)["spec"]["createWorkers"] == 0


def test_only_the_secrets_that_a_mixing_names_can_be_read_and_only_where_it_is():
    roles = {
        obj["metadata"]["namespace"]: {
            rule["resources"][0]: rule["resourceNames"] for rule in obj["rules"] if "resourceNames" in rule
        }
        for obj in render(values_of(EVERYTHING))
        if obj["kind"] == "Role" and obj["metadata"]["name"] == "bridge"
    }
    assert roles == {
        "hpc": {
            "secrets": ["other-token", "slurm-token", "slurm-client"],
            "configmaps": ["other-ca", "slurm-ca"],
        },
        "science": {"secrets": ["other-token"], "configmaps": ["other-ca"]},
    }


def test_dashboards_are_config_maps_that_grafanas_sidecar_finds():
    shown = {"enabled": True, "annotations": {"grafana_folder": "Slurm"}}
    monitor = {"runbooks": "https://wiki.example/runbooks", "dashboards": shown}
    made = [obj for obj in render({"slurmBridge": {"monitor": monitor}}) if obj["kind"] == "ConfigMap"]
    assert {found["metadata"]["name"] for found in made} == {
        f"k8s-bridge-dashboard-{dashboard.name}" for dashboard in DASHBOARDS
    }
    for found, dashboard in zip(made, DASHBOARDS, strict=True):
        assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert found["metadata"]["annotations"] == {"grafana_folder": "Slurm"}
        ((name, text),) = found["data"].items()
        assert name == f"k8s-bridge-{dashboard.name}.json"
        assert "https://wiki.example/runbooks" in text
        assert json.loads(text.replace("https://wiki.example/runbooks", RUNBOOKS)) == document(dashboard)


def test_switched_off_nothing_is_left_of_the_bridge():
    assert render({"slurmBridge": {"enabled": False}}) == []


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"slurmBridge": {"replicaz": 2}}, "replicaz"),
        ({"slurmbridge": {}}, "slurmbridge"),
        ({"slurmBridge": {"http": {"port": "8080"}}}, "port"),
        ({"workloadMixings": [{"name": "main", "spec": {"slurmRestURL": "x"}}]}, "slurmRestURL"),
        ({"workloadMixings": [{"name": "a", "spec": {"pollInterval": "1s"}}]}, "missing properties"),
        (
            values_of(EVERYTHING) | {"slurmBridge": {"namespaces": ["elsewhere"]}},
            "main is in namespace hpc, which slurmBridge.namespaces does not have",
        ),
    ],
)
def test_what_cannot_work_is_refused_and_named(values, said):
    with pytest.raises(Refused, match=said):
        render(values)


def test_the_ray_bridge_has_a_process_rights_and_policies_of_its_own():
    objects = render(values_of(RAY))
    container = only("Deployment", objects)["spec"]["template"]["spec"]["containers"][0]

    assert container["args"][:3] == ["run", "ray", "--namespace=science"]
    account = only("ServiceAccount", [one for one in objects if not hook_of(one)])
    assert account["metadata"]["name"] == "k8s-bridge-ray"
    bound = {
        obj["metadata"]["name"]: obj["spec"]["policyName"]
        for obj in objects
        if "Binding" in obj["kind"] and "spec" in obj
    }
    names = {f"platform-k8s-bridge-ray-{name}" for name in ("accept", "check", "hold")}
    assert bound == {name: name for name in names}
    versions = {obj["apiVersion"] for obj in objects if obj["kind"] == "MutatingAdmissionPolicy"}
    assert versions == {"admissionregistration.k8s.io/v1beta1"}


@pytest.mark.parametrize(
    ("bridges", "asked", "hooks"),
    [
        (("slurm",), {"k8s-bridge"}, {"pre-upgrade", "pre-delete", "post-delete"}),
        (("ray",), {"k8s-bridge-ray"}, {"pre-upgrade"}),
        (("slurm", "ray"), {"k8s-bridge", "k8s-bridge-ray"}, {"pre-upgrade", "pre-delete", "post-delete"}),
    ],
)
def test_each_bridge_is_tested_and_has_the_hooks_that_it_needs(bridges, asked, hooks):
    switches = {f"{name}Bridge": {"enabled": name in bridges} for name in ("slurm", "ray")}

    objects = render(switches)

    (test,) = [one for one in objects if hook_of(one) == "test"]
    (script,) = test["spec"]["containers"][0]["args"]
    services = {one["metadata"]["name"] for one in objects if one["kind"] == "Service"}
    assert set(re.findall(r"http://([^.]+)\.platform:8080/metrics", script)) == asked
    assert asked <= services
    assert {hook_of(one) for one in objects if one["kind"] == "Job"} == hooks


@pytest.mark.parametrize(
    ("bridges", "missed"),
    [
        (("slurm",), {"K8sBridgeAbsent"}),
        (("ray",), {"RayBridgeAbsent"}),
        (("slurm", "ray"), {"K8sBridgeAbsent", "RayBridgeAbsent"}),
    ],
)
def test_a_bridge_that_is_not_in_the_release_is_not_missed(bridges, missed):
    monitor = {"monitor": {"enabled": True, "alerts": {"enabled": True}}}
    values = {
        "slurmBridge": {"enabled": "slurm" in bridges} | monitor,
        "rayBridge": {"enabled": "ray" in bridges},
    }

    (group,) = only("PrometheusRule", render(values))["spec"]["groups"]

    told = {rule["alert"]: rule["expr"] for rule in group["rules"]}
    assert {name for name in told if name.endswith("BridgeAbsent")} == missed
    assert all('namespace="platform"' in told[name] for name in missed)
    assert told.keys() >= {alert.name for alert in ALERTS} - {"K8sBridgeAbsent", "RayBridgeAbsent"}


def hook_of(obj: dict[str, Any]) -> str:
    """When helm makes it; empty for what stays."""
    return str(obj["metadata"].get("annotations", {}).get("helm.sh/hook", ""))


def test_the_webhook_is_told_the_names_of_what_the_chart_makes_and_may_write_just_that():
    objects = render(values_of(WEBHOOK))
    (deployment,) = [
        obj
        for obj in objects
        if obj["metadata"]["name"] == "k8s-bridge-ray-webhook" and obj["kind"] == "Deployment"
    ]
    command, *words = deployment["spec"]["template"]["spec"]["containers"][0]["args"]

    told = main.commands[command].make_context(command, words).params

    assert told["namespace"] == ("science", "hpc")
    made = {(obj["kind"], obj["metadata"]["name"]) for obj in objects}
    assert {("Secret", told["secret"]), ("Service", told["service"])} <= made
    configured = [obj for obj in objects if obj["kind"].endswith("WebhookConfiguration")]
    assert {obj["metadata"]["name"] for obj in configured} == {told["configuration"]}
    assert told["configuration"] < "kueue-mutating-webhook-configuration"
    may = {
        (kind, name)
        for obj in objects
        for rule in obj.get("rules", ())
        if "webhook" in obj["metadata"]["name"] and "patch" in rule["verbs"]
        for kind in rule["resources"]
        for name in rule["resourceNames"]
    }
    assert may == {
        ("secrets", told["secret"]),
        ("mutatingwebhookconfigurations", told["configuration"]),
        ("validatingwebhookconfigurations", told["configuration"]),
    }


def test_the_webhook_comes_where_no_policy_is_served():
    policy = "admissionregistration.k8s.io/v1beta1/MutatingAdmissionPolicy"
    values = {"slurmBridge": {"enabled": False}, "rayBridge": {"enabled": True}}
    for served, kind in (((), "MutatingWebhookConfiguration"), ((policy,), "MutatingAdmissionPolicy")):
        kinds = {obj["kind"] for obj in render(values, served=served) if obj["kind"].startswith("Mutating")}
        assert kinds - {"MutatingAdmissionPolicyBinding"} == {kind}
