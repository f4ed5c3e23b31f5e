"""Other people's clients are the judges of how well the sandbox speaks."""

from __future__ import annotations

import asyncio
import os
import shutil

import pytest
from kubernetes import client, config, watch

from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, PODS
from k8s_bridge.sandbox.apiserver.kubeconfig import kubeconfig, write_kubeconfig

GROUP = ("jobset.x-k8s.io", "v1alpha2", "default", "jobsets")


@pytest.fixture
def python_client(server):
    with client.ApiClient(config.new_client_from_config_dict(kubeconfig(server)).configuration) as api:
        yield api


async def test_the_python_client_reads_writes_and_is_refused(python_client, storage):
    core = client.CoreV1Api(python_client)
    pod = client.V1Pod(
        metadata=client.V1ObjectMeta(name="p"),
        spec=client.V1PodSpec(containers=[client.V1Container(name="c", image="i")], node_name="n"),
    )
    made = await asyncio.to_thread(core.create_namespaced_pod, "default", pod)
    assert (made.status.phase, made.metadata.generation) == ("Pending", 1)
    listed = await asyncio.to_thread(core.list_pod_for_all_namespaces, field_selector="spec.nodeName=n")
    assert [item.metadata.name for item in listed.items] == ["p"]
    body = {"metadata": {"labels": {"x": "y"}}}
    await asyncio.to_thread(core.patch_namespaced_pod, "p", "default", body)
    assert storage.get(PODS, "default", "p")["metadata"]["labels"] == {"x": "y"}
    with pytest.raises(client.ApiException) as refused:
        await asyncio.to_thread(core.create_namespaced_pod, "default", pod)
    assert refused.value.status == 409
    await asyncio.to_thread(core.delete_namespaced_pod, "p", "default", grace_period_seconds=0)
    assert storage.list(PODS) == []


async def test_the_python_client_watches(python_client, storage):
    custom = client.CustomObjectsApi(python_client)
    storage.create(JOBSETS, {"metadata": {"name": "a", "namespace": "default"}})
    storage.delete(JOBSETS, "default", "a")

    def follow():
        stream = watch.Watch().stream(
            custom.list_namespaced_custom_object, *GROUP, resource_version="1", timeout_seconds=1
        )
        return [(event["type"], event["object"]["metadata"]["name"]) for event in stream]

    assert await asyncio.to_thread(follow) == [("ADDED", "a"), ("DELETED", "a")]


async def test_kr8s_finds_its_way_by_discovery(server, storage, tmp_path):
    import kr8s.asyncio  # noqa: PLC0415

    write_kubeconfig(server, tmp_path / "config")
    storage.create(PODS, {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": []}})
    api = await kr8s.asyncio.api(kubeconfig=str(tmp_path / "config"))
    assert [pod.name async for pod in api.get("pods", namespace="default")] == ["p"]
    assert (await api.version())["major"] == "1"


@pytest.fixture
def kubectl(server, tmp_path):
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    write_kubeconfig(server, tmp_path / "config")
    environment = os.environ | {"KUBECONFIG": str(tmp_path / "config"), "HOME": str(tmp_path)}

    async def run(*arguments: str, stdin: str = "") -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            "kubectl",
            *arguments,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate(stdin.encode())
        return process.returncode, output.decode()

    return run


MANIFEST = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: a}
spec: {suspend: true}
"""


async def test_kubectl_applies_gets_labels_and_deletes(kubectl, storage):
    assert await kubectl("apply", "-f", "-", stdin=MANIFEST) == (0, "jobset.jobset.x-k8s.io/a created\n")
    assert await kubectl("apply", "-f", "-", stdin=MANIFEST) == (0, "jobset.jobset.x-k8s.io/a unchanged\n")
    code, table = await kubectl("get", "jobsets")
    assert code == 0
    assert table.split()[:2] == ["NAME", "TERMINALSTATE"]
    code, _ = await kubectl("label", "jobset", "a", "x=y")
    assert code == 0
    assert storage.get(JOBSETS, "default", "a")["metadata"]["labels"] == {"x": "y"}
    code, text = await kubectl("delete", "jobset", "a")
    assert (code, storage.list(JOBSETS)) == (0, []), text


async def test_kubectl_shows_a_server_side_conflict(kubectl, storage):
    await kubectl("apply", "--server-side", "-f", "-", stdin=MANIFEST)
    storage.patch(JOBSETS, "default", "a", {"spec": {"suspend": False}}, field_manager="kueue")
    code, text = await kubectl("apply", "--server-side", "-f", "-", stdin=MANIFEST)
    assert code != 0
    assert 'conflict with "kueue"' in text
    assert ".spec.suspend" in text
