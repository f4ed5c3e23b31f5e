from __future__ import annotations

import pytest

from api.views import JobSet
from k8s_bridge.core.effects import Apply, Delete, Patch
from k8s_bridge.core.errors import Conflict, Missing, Retry, Terminal
from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.kube.credentials import StaticToken
from k8s_bridge.kube.errors import AlreadyExists, Gone
from k8s_bridge.kube.transport import KubeClient
from tests.contract.http_server import answer
from tests.contract.kube.shapes import JOBSET, JOBSETS, ref, status


async def test_apply_is_forced_server_side_apply_by_our_manager(server, client):
    server.on("PATCH", JOBSET, answer(200, {"metadata": {"name": "slurm-job-7"}}))
    body = await client.apply(Apply(ref=ref(), manifest={"metadata": {"name": "slurm-job-7"}}))
    request = server.requests[0]
    assert body == b'{"metadata": {"name": "slurm-job-7"}}'
    assert request.query == {"fieldManager": "k8s-bridge", "force": "true"}
    assert request.headers["content-type"] == "application/apply-patch+yaml"
    assert request.json() == {"metadata": {"name": "slurm-job-7"}}


async def test_apply_to_another_object_of_that_name_is_a_conflict(server, client):
    causes = [{"field": "metadata.uid", "reason": "FieldValueInvalid"}]
    server.on("PATCH", JOBSET, answer(422, status(422, "Invalid", causes=causes)))
    with pytest.raises(Conflict):
        await client.apply(Apply(ref=ref(uid="u1"), manifest={"metadata": {"name": "slurm-job-7"}}))
    assert server.requests[0].json() == {"metadata": {"name": "slurm-job-7", "uid": "u1"}}


async def test_patch_carries_its_preconditions_and_subresource(server, client):
    server.on("PATCH", f"{JOBSET}/status", answer(200, {}))
    effect = Patch(ref=ref(uid="u1"), patch={"status": None}, subresource="status", resource_version="5")
    await client.patch(effect)
    request = server.requests[0]
    assert request.headers["content-type"] == "application/merge-patch+json"
    assert request.json() == {"status": None, "metadata": {"uid": "u1", "resourceVersion": "5"}}


async def test_delete_is_in_the_background_and_only_of_that_uid(server, client):
    server.on("DELETE", JOBSET, answer(200, {}))
    await client.delete(Delete(ref=ref(uid="u1")))
    body = server.requests[0].json()
    assert body["propagationPolicy"] == "Background"
    assert body["preconditions"] == {"uid": "u1"}


async def test_deleting_what_is_not_there_succeeds(server, client, seen):
    server.on("DELETE", JOBSET, answer(404, status(404, "NotFound")))
    await client.delete(Delete(ref=ref()))
    assert seen.calls == [("DELETE", "JobSet", 404)]


async def test_deleting_another_of_that_name_is_a_conflict(server, client):
    server.on("DELETE", JOBSET, answer(409, status(409, "Conflict")))
    with pytest.raises(Conflict):
        await client.delete(Delete(ref=ref(uid="u1")))


@pytest.mark.parametrize(
    ("code", "body", "error"),
    [
        (409, status(409, "AlreadyExists"), AlreadyExists),
        (409, status(409, "Conflict"), Conflict),
        (410, status(410, "Expired"), Gone),
        (404, status(404, "NotFound"), Missing),
        (401, status(401, "Unauthorized"), Retry),
        (408, {}, Retry),
        (429, status(429, "TooManyRequests"), Retry),
        (500, status(500, "InternalError"), Retry),
        (502, b"<html>bad gateway</html>", Retry),
        (504, status(504, "Timeout"), Retry),
    ],
)
async def test_code_and_reason_decide(server, client, code, body, error):
    server.on("POST", JOBSETS, answer(code, body))
    with pytest.raises(error) as caught:
        await client.create(ref(), manifest={})
    assert type(caught.value) is error


@pytest.mark.parametrize(
    ("code", "body", "reason"),
    [
        (403, status(403, "Forbidden"), "Forbidden"),
        (422, status(422, "Invalid", causes=[{"field": "spec.x"}]), "Invalid"),
        (400, status(400, "BadRequest"), "BadRequest"),
        (415, b"no", "Http415"),
        (404, b"404 page not found\n", "Http404"),  # the kind is not served: no evidence about the object
    ],
)
async def test_what_cannot_be_healed_is_terminal_with_its_reason(server, client, code, body, reason):
    server.on("POST", JOBSETS, answer(code, body))
    with pytest.raises(Terminal) as caught:
        await client.create(ref(), manifest={})
    assert not isinstance(caught.value, Missing)
    assert caught.value.reason == reason


async def test_the_wait_may_come_from_the_status(server, client):
    server.on("POST", JOBSETS, answer(500, status(500, "ServerTimeout", retryAfterSeconds=3)))
    with pytest.raises(Retry) as caught:
        await client.create(ref(), manifest={})
    assert caught.value.after == 3.0


async def test_an_instance_whose_lease_is_over_sends_no_change_but_reads_on(server):
    address = ApiServer(base_url=server.url, credentials=StaticToken("secret"))
    server.on("GET", JOBSET, answer(200, {"metadata": {"name": "slurm-job-7"}}))
    async with KubeClient(address, may_write=lambda: False) as client:
        for write in (
            client.create(ref(), manifest={}),
            client.patch(Patch(ref=ref(), patch={})),
            client.apply(Apply(ref=ref(), manifest={})),
            client.delete(Delete(ref=ref())),
        ):
            with pytest.raises(Conflict, match="may not write now"):
                await write
        await client.get(JobSet, name="slurm-job-7", namespace="ns")
    assert [request.method for request in server.requests] == ["GET"]
