"""The REST calls about nodes and partitions."""

from __future__ import annotations

import json
from collections.abc import Iterable

from starlette.responses import Response

from k8s_bridge.sandbox.slurm_fake import node_admin
from k8s_bridge.sandbox.slurm_fake.call import Call
from k8s_bridge.sandbox.slurm_fake.cluster import ROOT
from k8s_bridge.sandbox.slurm_fake.errors import Errno, SlurmError
from k8s_bridge.sandbox.slurm_fake.faults import Fault
from k8s_bridge.sandbox.slurm_fake.nodes import Node
from k8s_bridge.sandbox.slurm_fake.render import node_values, number
from k8s_bridge.sandbox.slurm_fake.versions import records

_NOT_MODIFIED = 304


def listing(call: Call, _name: str) -> Response:
    """All nodes; 304 without a body when nothing changed since `update_time`.

    slurmrestd asks for partitions by the same time, and takes "unchanged" for an error.
    """
    since = int(call.query("update_time") or 0)
    if since and since - 1 >= call.cluster.nodes_changed:
        return Response(status_code=_NOT_MODIFIED)
    if since and since - 1 >= call.cluster.partitions_changed:
        error = SlurmError(Errno.UNSPECIFIED)
        return call.envelope.refusal(error, {}, text="Unable to query partitions", source="_dump_nodes")
    return _list(call, call.spoiled(call.cluster.nodes.values()))


def one(call: Call, name: str) -> Response:
    """One node. An unknown one is no error status, and there is no `nodes` in the answer."""
    if node := call.cluster.nodes.get(name):
        return _list(call, [node])
    item = {
        "description": f"Failure to query node {name}",
        "error_number": 0,
        "error": "No error",
        "source": "_dump_nodes",
    }
    return call.envelope.answer({}, errors=[item])


def update(call: Call, name: str) -> Response:
    """Change a node."""
    return _updated(call, [name])


def update_many(call: Call, _name: str) -> Response:
    """Change the nodes that the body names, one after the other until one is refused."""
    return _updated(call, call.body.get("name", ()))


def delete(call: Call, name: str) -> Response:
    """Delete a node record."""
    try:
        _check_rights(call)
        node_admin.delete(call.cluster, name)
    except SlurmError as error:
        return _refused(call, error, name=name, source="op_handler_node")
    return call.envelope.answer({})


def partitions(call: Call, _name: str) -> Response:
    """All partitions."""
    return _partitions(call, call.cluster.settings.partitions)


def partition(call: Call, name: str) -> Response:
    """One partition, or an empty list."""
    return _partitions(call, {name} & set(call.cluster.settings.partitions))


def nothing(call: Call, name: str) -> Response:
    """What a cluster without reservations and licences answers; a reconfigure changes nothing here."""
    return call.envelope.answer({name: [], "last_update": number(int(call.cluster.now))})


def diag(call: Call, _name: str) -> Response:
    """What sdiag tells: here, slurmctld's clock alone."""
    return call.envelope.answer({"statistics": {"req_time": number(int(call.cluster.now))}})


def _partitions(call: Call, names: Iterable[str]) -> Response:
    base = records(call.version)["partition"]
    total = len(call.cluster.nodes)
    found = [
        {**base, "name": name, "nodes": {**base["nodes"], "total": total}, "cluster": ""} for name in names
    ]
    return call.envelope.answer({"partitions": found, "last_update": number(int(call.cluster.now))})


def _updated(call: Call, names: Iterable[str]) -> Response:
    for name in names:
        try:
            _check_rights(call)
            node_admin.update(call.cluster, name, call.body)
        except SlurmError as error:
            return _refused(call, error, name=name, source="_update_node")
    return call.envelope.answer({}, warnings=node_admin.unknown_warnings(call.body))


def _check_rights(call: Call) -> None:
    if call.user != ROOT:
        raise SlurmError(Errno.FOREIGN_JOB)


def _refused(call: Call, error: SlurmError, *, name: str, source: str) -> Response:
    return call.envelope.refusal(error, {}, text=f"Failure to update node {name}", source=source)


def _list(call: Call, nodes: Iterable[Node]) -> Response:
    now, partitions = call.cluster.now, call.cluster.settings.partitions
    rows = [call.node_template.render(node_values(node, now=now, partitions=partitions)) for node in nodes]
    if call.fault is Fault.MALFORMED_ITEM and rows:
        rows[0] = "    " + json.dumps({"name": 7, "state": "IDLE"})
    fields = {"last_update": number(int(now - call.staleness))}
    return call.envelope.listing("nodes", rows, fields=fields)
