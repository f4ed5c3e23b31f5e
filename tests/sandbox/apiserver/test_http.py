from __future__ import annotations

import httpx
import pytest

from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, PODS
from k8s_bridge.sandbox.apiserver.server import ApiServer

JOBSET_PATH = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
JOBSET = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "a"},
    "spec": {"suspend": True},
}
APPLY = {"content-type": "application/apply-patch+yaml"}
MERGE = {"content-type": "application/merge-patch+json"}


async def test_a_life_over_http(http):
    made = await http.post(JOBSET_PATH, json=JOBSET)
    assert made.status_code == 201
    read = await http.get(f"{JOBSET_PATH}/a")
    assert read.json() == made.json()
    patched = await http.patch(f"{JOBSET_PATH}/a", json={"spec": {"suspend": False}}, headers=MERGE)
    assert (patched.status_code, patched.json()["spec"]) == (200, {"suspend": False})
    status = patched.json() | {"status": {"restarts": 2}}
    written = await http.put(f"{JOBSET_PATH}/a/status", json=status)
    assert written.json()["status"] == {"restarts": 2}
    gone = await http.delete(f"{JOBSET_PATH}/a")
    assert gone.json()["status"] == "Success"
    assert gone.json()["details"]["uid"] == made.json()["metadata"]["uid"]
    missing = await http.get(f"{JOBSET_PATH}/a")
    assert missing.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'jobsets.jobset.x-k8s.io "a" not found',
        "reason": "NotFound",
        "details": {"name": "a", "group": "jobset.x-k8s.io", "kind": "jobsets"},
        "code": 404,
    }


async def test_the_manager_is_named_or_is_the_user_agent(http):
    made = await http.post(JOBSET_PATH, json=JOBSET, headers={"user-agent": "kueue/0.17 (linux)"})
    assert made.json()["metadata"]["managedFields"][0]["manager"] == "kueue"
    params = {"fieldManager": "us", "force": "true"}
    applied = await http.patch(f"{JOBSET_PATH}/a", json=JOBSET, headers=APPLY, params=params)
    assert applied.json()["metadata"]["managedFields"][0]["manager"] == "us"


async def test_apply_takes_yaml_and_needs_a_manager(http):
    text = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: y}\nspec: {suspend: true}\n"
    nobody = await http.patch(f"{JOBSET_PATH}/y", content=text, headers=APPLY)
    assert nobody.status_code == 422
    assert "fieldManager: Required value" in nobody.json()["message"]
    made = await http.patch(f"{JOBSET_PATH}/y", content=text, headers=APPLY, params={"fieldManager": "us"})
    assert (made.status_code, made.json()["spec"]) == (201, {"suspend": True})


@pytest.mark.parametrize(
    ("method", "path", "content", "headers", "code"),
    [
        ("POST", JOBSET_PATH, b"{not json", {}, 400),
        ("POST", JOBSET_PATH, b"[]", {}, 400),
        ("POST", JOBSET_PATH, b'{"kind":"Pod","apiVersion":"v1"}', {}, 400),
        ("POST", JOBSET_PATH, b'{"metadata":{"name":"x","namespace":"other"}}', {}, 400),
        ("POST", f"{JOBSET_PATH}/a", b"{}", {}, 405),
        ("PUT", JOBSET_PATH, b"{}", {}, 405),
        ("PATCH", f"{JOBSET_PATH}/a", b"{}", {"content-type": "application/json"}, 415),
        ("PATCH", f"{JOBSET_PATH}/a", b"{}", {"content-type": "application/strategic-merge-patch+json"}, 415),
        ("POST", "/api/v1/namespaces/default/pods", b"k8s\0", {"content-type": "application/protobuf"}, 415),
        ("GET", "/apis/jobset.x-k8s.io/v1alpha2/jobsets/a", None, {}, 404),
        ("GET", "/apis/none.example.com/v1/things", None, {}, 404),
        ("GET", f"{JOBSET_PATH}?labelSelector=a=b=c", None, {}, 400),
        ("GET", f"{JOBSET_PATH}?limit=many", None, {}, 400),
        ("GET", f"{JOBSET_PATH}?continue=nonsense", None, {}, 400),
    ],
)
async def test_what_is_refused_comes_as_a_status(http, method, path, content, *, headers, code):
    await http.post(JOBSET_PATH, json=JOBSET)
    answer = await http.request(method, path, content=content, headers=headers)
    assert (answer.status_code, answer.json()["kind"], answer.json()["code"]) == (code, "Status", code)


async def test_delete_options_come_in_the_body_or_the_query(http, storage):
    storage.create(
        PODS, {"metadata": {"name": "p", "namespace": "default"}, "spec": {"nodeName": "n", "containers": []}}
    )
    path = "/api/v1/namespaces/default/pods/p"
    wrong = {"preconditions": {"uid": "other"}}
    refused = await http.request("DELETE", path, json=wrong)
    assert (refused.status_code, refused.json()["reason"]) == (409, "Conflict")
    marked = await http.delete(path, params={"gracePeriodSeconds": 7})
    assert marked.json()["metadata"]["deletionGracePeriodSeconds"] == 7
    gone = await http.request("DELETE", path, json={"gracePeriodSeconds": 0})
    assert (gone.status_code, gone.json()["kind"]) == (200, "Pod")
    assert storage.list(PODS) == []


async def test_delete_collection_takes_the_selected(http, storage):
    for name in ("a", "b", "c"):
        meta = {"name": name, "namespace": "default", "labels": {"keep": str(name == "b")}}
        storage.create(JOBSETS, {"metadata": meta})
    answer = await http.delete(JOBSET_PATH, params={"labelSelector": "keep=False"})
    assert [item["metadata"]["name"] for item in answer.json()["items"]] == ["a", "c"]
    assert [obj["metadata"]["name"] for obj in storage.list(JOBSETS)] == ["b"]


async def test_a_pod_is_bound_once_and_evicted(http, storage):
    storage.create(PODS, {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": []}})
    path = "/api/v1/namespaces/default/pods/p"
    binding = {"target": {"kind": "Node", "name": "n1"}}
    assert (await http.post(f"{path}/binding", json=binding)).status_code == 201
    assert storage.get(PODS, "default", "p")["spec"]["nodeName"] == "n1"
    assert (await http.post(f"{path}/binding", json=binding)).status_code == 409
    assert (await http.post(f"{path}/eviction", json={"metadata": {"name": "p"}})).status_code == 201
    assert "deletionTimestamp" in storage.get(PODS, "default", "p")["metadata"]


async def test_pages_show_one_moment(http, storage):
    for name in "abcde":
        storage.create(JOBSETS, {"metadata": {"name": name, "namespace": "default"}})
    first = (await http.get(JOBSET_PATH, params={"limit": 2})).json()
    storage.delete(JOBSETS, "default", "c")
    storage.create(JOBSETS, {"metadata": {"name": "bb", "namespace": "default"}})
    assert first["metadata"]["remainingItemCount"] == 3
    token = first["metadata"]["continue"]
    second = (await http.get(JOBSET_PATH, params={"limit": 2, "continue": token})).json()
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    token = second["metadata"]["continue"]
    last = (await http.get(JOBSET_PATH, params={"limit": 2, "continue": token})).json()
    names = [item["metadata"]["name"] for page in (first, second, last) for item in page["items"]]
    assert names == ["a", "b", "c", "d", "e"]
    assert "continue" not in last["metadata"]


async def test_an_expired_page_token_is_410_and_offers_an_inconsistent_rest(http, server, storage):
    for name in "abcd":
        storage.create(JOBSETS, {"metadata": {"name": name, "namespace": "default"}})
    first = (await http.get(JOBSET_PATH, params={"limit": 2})).json()
    storage.delete(JOBSETS, "default", "c")
    server.forget_history()
    expired = await http.get(JOBSET_PATH, params={"limit": 2, "continue": first["metadata"]["continue"]})
    assert (expired.status_code, expired.json()["reason"]) == (410, "Expired")
    token = expired.json()["metadata"]["continue"]
    rest = (await http.get(JOBSET_PATH, params={"limit": 2, "continue": token})).json()
    assert [item["metadata"]["name"] for item in rest["items"]] == ["d"]


async def test_only_bearers_of_a_token_are_served(storage):
    async with (
        ApiServer(storage, tokens=frozenset({"secret"})) as server,
        httpx.AsyncClient(base_url=server.url) as client,
    ):
        refused = await client.get(JOBSET_PATH)
        assert (refused.status_code, refused.json()["reason"]) == (401, "Unauthorized")
        served = await client.get(JOBSET_PATH, headers={"authorization": "Bearer secret"})
        assert served.status_code == 200


async def test_a_list_as_a_table(http, storage, clock):
    storage.create(JOBSETS, {"metadata": {"name": "a", "namespace": "default"}, "spec": {"suspend": True}})
    clock.advance(130)
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    table = (await http.get(JOBSET_PATH, headers={"accept": accept})).json()
    names = [column["name"] for column in table["columnDefinitions"]]
    cells = dict(zip(names, table["rows"][0]["cells"], strict=True))
    assert (cells["Name"], cells["Suspended"], cells["Age"]) == ("a", "True", "2m")
    assert table["rows"][0]["object"]["metadata"]["name"] == "a"


async def test_health_version_and_discovery(http):
    assert (await http.get("/readyz")).text == "ok"
    assert (await http.get("/version")).json()["major"] == "1"
    groups = {group["name"] for group in (await http.get("/apis")).json()["groups"]}
    assert {"batch", "kueue.x-k8s.io", "jobset.x-k8s.io", "k8s-bridge.x-k8s.io"} <= groups
    names = {resource["name"] for resource in (await http.get("/api/v1")).json()["resources"]}
    assert {"pods", "pods/status", "nodes", "events"} <= names


async def test_a_workloadmixing_is_refused_with_every_cause(http):
    path = "/apis/k8s-bridge.x-k8s.io/v1alpha1/namespaces/default/workloadmixings"
    answer = await http.post(path, json={"metadata": {"name": "m"}, "spec": {"localQueue": "lq"}})
    assert (answer.status_code, answer.json()["reason"]) == (422, "Invalid")
    causes = {(cause["field"], cause["reason"]) for cause in answer.json()["details"]["causes"]}
    missing = ("spec.slurmRestURL", "spec.partitionMappings", "spec.slurmd")
    assert causes == {(field, "FieldValueRequired") for field in missing}


async def test_a_workloadmixing_is_pruned_and_defaulted(http):
    path = "/apis/k8s-bridge.x-k8s.io/v1alpha1/namespaces/default/workloadmixings"
    spec = {
        "slurmRestURL": "https://slurm:6820",
        "localQueue": "lq",
        "slurmd": {"image": "slurmd:1", "confServer": "c:6817", "authSecretName": "s"},
        "partitionMappings": [{"partitionName": "batch", "workloadPriorityClass": "low", "unheard": 1}],
    }
    answer = await http.post(path, json={"metadata": {"name": "m"}, "spec": spec})
    assert answer.status_code == 201, answer.text
    made = answer.json()["spec"]
    assert "unheard" not in made["partitionMappings"][0]
    assert made["pollInterval"]
