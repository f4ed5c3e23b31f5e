"""Every field of a WorkloadMixing's spec, with an edit of it and what that does while jobs wait and run."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Union, get_args, get_origin

from api.v1alpha1 import WorkloadMixingSpec
from api.v1alpha1.base import Model, camel
from k8s_bridge.sandbox.world.config import LOW, TEAM_B


class Does(StrEnum):
    """What an edit does. Whatever it is, no job that runs loses anything."""

    ANEW = "what waits is asked for anew; what runs is left alone"
    AT_ONCE = "in force for all jobs at once; nothing is asked for anew"
    CONNECTS = "the connection to Slurm is made anew"
    WITHDRAWS = "what waits is given up; what runs is left alone"
    NOTHING = "nothing that the Slurm bridge does"


@dataclass(frozen=True, kw_only=True)
class Edit:
    """An edit, as what is laid over the spec, its first partition mapping and its slurmd.

    `loses_slurm`: with this value Slurm cannot be reached any more.
    """

    does: Does
    spec: Mapping[str, Any] = field(default_factory=dict)
    mapping: Mapping[str, Any] = field(default_factory=dict)
    slurmd: Mapping[str, Any] = field(default_factory=dict)
    loses_slurm: bool = False


ACCOUNT, QOS, USER, WCKEY = "physics", "long", "ada", "grant"
"""Of the job that waits."""


def leaves(model: type[Model] = WorkloadMixingSpec, path: str = "") -> Iterator[str]:
    """The path of every field that holds no other fields; a list's entries are written `[]`."""
    for name, info in model.model_fields.items():
        here = f"{path}{info.alias or camel(name)}"
        inner, many = _model(info.annotation)
        if inner is None or here == "ray":
            yield here
        else:
            yield from leaves(inner, f"{here}{'[]' if many else ''}.")


def _model(annotation: Any) -> tuple[type[Model] | None, bool]:
    """The model in an annotation, and whether there may be many of them."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _model(arguments[0])
    if origin in (Union, types.UnionType):
        found = [_model(one) for one in arguments if one is not type(None)]
        return found[0] if len(found) == 1 else (None, False)
    if origin is tuple:
        return _model(arguments[0])[0], True
    is_model = isinstance(annotation, type) and issubclass(annotation, Model)
    return (annotation, False) if is_model else (None, False)


def _spec(does: Does, **values: Any) -> Edit:
    return Edit(does=does, spec=values)


def _mapping(**values: Any) -> Edit:
    return Edit(does=Does.ANEW, mapping=values)


def _slurmd(**values: Any) -> Edit:
    return Edit(does=Does.ANEW, slurmd=values)


def _rule(**values: str) -> Edit:
    return _mapping(queueRules=[{"localQueue": TEAM_B, **values}])


_STORAGE = {"nfsServer": "nfs", "nfsPath": "/export", "mountPath": "/home"}
_GRES = {"gres": "gpu", "resourceName": "nvidia.com/gpu"}
_CLAIM = {"name": "imex", "resourceClaimTemplateName": "imex"}
_SECRET = {"name": "slurm-token", "key": "jwt"}
_BUNDLE = {"kind": "Secret", "name": "slurm-ca", "key": "bundle"}

_RAY = {
    "localQueue": TEAM_B,
    "managedClusters": [{"name": "shared"}],
    "poolMappings": [{"pool": "cpu", "workloadPriorityClass": LOW}],
}

FIELDS: Mapping[str, Edit] = {
    # how Slurm is reached
    "slurmRestURL": Edit(does=Does.CONNECTS, spec={"slurmRestURL": "http://127.0.0.1:9"}, loses_slurm=True),
    "allowInsecureHTTP": Edit(
        does=Does.CONNECTS,
        spec={"slurmRestURL": "https://127.0.0.1:9", "allowInsecureHTTP": False},
        loses_slurm=True,
    ),
    "slurmCACertFile": Edit(does=Does.CONNECTS, spec={"slurmCACertFile": "/no/such/file"}, loses_slurm=True),
    "slurmCARef.kind": Edit(does=Does.CONNECTS, spec={"slurmCARef": _BUNDLE}, loses_slurm=True),
    "slurmCARef.name": Edit(does=Does.CONNECTS, spec={"slurmCARef": {"name": "nowhere"}}, loses_slurm=True),
    "slurmCARef.key": Edit(
        does=Does.CONNECTS, spec={"slurmCARef": {"name": "nowhere", "key": "x"}}, loses_slurm=True
    ),
    "slurmClientCertRef.name": Edit(
        does=Does.CONNECTS, spec={"slurmClientCertRef": {"name": "nowhere"}}, loses_slurm=True
    ),
    "slurmInsecureSkipTLSVerify": _spec(Does.CONNECTS, slurmInsecureSkipTLSVerify=True),
    "slurmUser": _spec(Does.CONNECTS, slurmUser="nobody-here"),
    "slurmTokenFile": Edit(does=Does.CONNECTS, spec={"slurmTokenFile": "/no/such/file"}, loses_slurm=True),
    "slurmTokenSecretRef.name": Edit(
        does=Does.CONNECTS, spec={"slurmTokenFile": "", "slurmTokenSecretRef": _SECRET}, loses_slurm=True
    ),
    "slurmTokenSecretRef.key": Edit(
        does=Does.CONNECTS,
        spec={"slurmTokenFile": "", "slurmTokenSecretRef": {"name": "slurm-token"}},
        loses_slurm=True,
    ),
    "slurmApiVersion": _spec(Does.CONNECTS, slurmApiVersion="v0.0.40"),
    "pollInterval": _spec(Does.CONNECTS, pollInterval="2s"),
    "slurmRequestTimeout": _spec(Does.CONNECTS, slurmRequestTimeout="7s"),
    "slurmRequestsPerSecond": _spec(Does.CONNECTS, slurmRequestsPerSecond=500),
    # what may be done with jobs
    "createWorkers": _spec(Does.CONNECTS, createWorkers=3),
    "enablePrioritySync": _spec(Does.AT_ONCE, enablePrioritySync=True),
    "maxUserPriority": _spec(Does.AT_ONCE, maxUserPriority=7),
    "adoptUnheld": _spec(Does.AT_ONCE, adoptUnheld=True),
    "provisionTimeout": _spec(Does.AT_ONCE, provisionTimeout="9m"),
    "startTimeout": _spec(Does.AT_ONCE, startTimeout="9m"),
    "requeueLimit": _spec(Does.AT_ONCE, requeueLimit=3),
    "noRequeuePolicy": _spec(Does.AT_ONCE, noRequeuePolicy="Requeue"),
    "refusedJobPolicy": _spec(Does.AT_ONCE, refusedJobPolicy="Fail"),
    "drainOnPreemption": _spec(Does.ANEW, drainOnPreemption=True),
    "cancelOrphanedJobs": _spec(Does.AT_ONCE, cancelOrphanedJobs=True),
    "orphanGraceTicks": _spec(Does.AT_ONCE, orphanGraceTicks=7),
    "failedJobSetRetention": _spec(Does.AT_ONCE, failedJobSetRetention="1h"),
    "deletionPolicy": _spec(Does.AT_ONCE, deletionPolicy="Drain"),
    # where jobs go
    "localQueue": _spec(Does.ANEW, localQueue=TEAM_B),
    "partitionMappings[].partitionName": Edit(does=Does.WITHDRAWS, mapping={"partitionName": "renamed"}),
    "partitionMappings[].workloadPriorityClass": _mapping(workloadPriorityClass=LOW),
    "partitionMappings[].localQueue": _mapping(localQueue=TEAM_B),
    "partitionMappings[].queueRules[].account": _rule(account=ACCOUNT),
    "partitionMappings[].queueRules[].qos": _rule(qos=QOS),
    "partitionMappings[].queueRules[].user": _rule(user=USER),
    "partitionMappings[].queueRules[].wckey": _rule(wckey=WCKEY),
    "partitionMappings[].queueRules[].localQueue": _rule(),
    "partitionMappings[].queueRules[].workloadPriorityClass": _mapping(
        queueRules=[{"workloadPriorityClass": LOW}]
    ),
    "partitionMappings[].maxInFlight": Edit(does=Does.AT_ONCE, mapping={"maxInFlight": 5}),
    # what pods are like
    "partitionMappings[].podTemplate": _mapping(podTemplate={"metadata": {"labels": {"team": "x"}}}),
    "partitionMappings[].nodeShape.cpus": _mapping(nodeShape={"cpus": 1}),
    "partitionMappings[].nodeShape.memory": _mapping(nodeShape={"cpus": 64, "memory": "3Gi"}),
    "partitionMappings[].nodeShape.gpus": _mapping(nodeShape={"cpus": 64, "gpus": 1}),
    "partitionMappings[].topology.requiredLevel": _mapping(topology={"requiredLevel": "example.com/rack"}),
    "partitionMappings[].topology.preferredLevel": _mapping(topology={"preferredLevel": "example.com/rack"}),
    "partitionMappings[].exclusive": _mapping(exclusive=True),
    "partitionMappings[].features[].name": _mapping(features=[{"name": "fast"}]),
    "partitionMappings[].features[].nodeSelector": _mapping(
        features=[{"name": "fast", "nodeSelector": {"disk": "nvme"}}]
    ),
    "topology.requiredLevel": _spec(Does.ANEW, topology={"requiredLevel": "example.com/rack"}),
    "topology.preferredLevel": _spec(Does.ANEW, topology={"preferredLevel": "example.com/rack"}),
    "slurmd.image": _slurmd(image="slurmd:another"),
    "slurmd.confServer": _slurmd(confServer="another:6817"),
    "slurmd.authSecretName": _slurmd(authSecretName="another"),
    "slurmd.gpuResourceName": _slurmd(gpuResourceName="example.com/gpu"),
    "slurmd.privileged": _slurmd(privileged=False),
    "slurmd.sharedStorage.nfsServer": _slurmd(sharedStorage=_STORAGE),
    "slurmd.sharedStorage.nfsPath": _slurmd(sharedStorage=_STORAGE | {"nfsPath": "/other"}),
    "slurmd.sharedStorage.mountPath": _slurmd(sharedStorage=_STORAGE | {"mountPath": "/other"}),
    "slurmd.gresResources[].gres": _slurmd(gresResources=[_GRES]),
    "slurmd.gresResources[].resourceName": _slurmd(gresResources=[_GRES | {"resourceName": "example.com/g"}]),
    "slurmd.gresResources[].deviceClassName": _slurmd(
        gresResources=[{"gres": "other", "deviceClassName": "gpus"}]
    ),
    "slurmd.memoryOverhead": _slurmd(memoryOverhead="1Gi"),
    "slurmd.hostNetwork": _slurmd(hostNetwork=True),
    "slurmd.resourceClaims[].name": _slurmd(resourceClaims=[_CLAIM]),
    "slurmd.resourceClaims[].resourceClaimName": _slurmd(
        resourceClaims=[{"name": "imex", "resourceClaimName": "all"}]
    ),
    "slurmd.resourceClaims[].resourceClaimTemplateName": _slurmd(
        resourceClaims=[_CLAIM | {"resourceClaimTemplateName": "other-{{ job.id }}"}]
    ),
    "ray": _spec(Does.NOTHING, ray=_RAY),
}
