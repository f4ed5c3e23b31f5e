"""The expressions of the admission policies, as the API server evaluates them (CEL). Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from textwrap import dedent

from k8s_bridge.core import naming
from k8s_bridge.ray import names

_LONGEST_NAME = 47
_RESOURCES, _RUNTIME_ENV = "RAY_BRIDGE_RESOURCES", "RAY_BRIDGE_RUNTIME_ENV"

_NOTES = "has(object.metadata.annotations) ? object.metadata.annotations : {}"


def _inner(job: str) -> dict[str, str]:
    cluster = f"{job}.spec.?clusterSelector[?'{names.CLUSTER_SELECTOR}'].orValue('')"
    return {
        "inner": f"has({job}.spec.clusterSelector) && size({job}.spec.clusterSelector) > 0",
        "submitted-by-kuberay": f"{job}.spec.?submissionMode.orValue('K8sJobMode') != 'InteractiveMode'",
        "managed": f"has(params.spec.ray) && params.spec.ray.managedClusters.exists(c, c.name == {cluster})",
    }


CREATED = _inner("object")
"""Conditions: which RayJobs are meant when they are made."""
WRITTEN = {
    name: f"({now}) || (request.operation == 'UPDATE' && {before})"
    for (name, now), before in zip(CREATED.items(), _inner("oldObject").values(), strict=True)
}
"""Conditions: which are meant whenever they are written. What was managed stays so; nothing becomes it."""

ACCEPTING = {
    "notes": _NOTES,
    "first": f"!('{names.ACCEPTED}' in variables.notes)",
    "suspended": "object.spec.?suspend.orValue(false)",
    "queue": (
        f"has(object.metadata.labels) && '{naming.QUEUE_NAME}' in object.metadata.labels ? "
        f"object.metadata.labels['{naming.QUEUE_NAME}'] : ''"
    ),
    "deadline": "object.spec.?activeDeadlineSeconds.orValue(0)",
}
"""Variables. Kueue's webhook comes between the first look and the next: what it did is undone then."""

ACCEPTED = dedent(
    f"""\
    Object{{
      metadata: Object.metadata{{
        annotations: !variables.first ? {{}} :
          variables.queue == '' || '{names.LOCAL_QUEUE}' in variables.notes
          ? {{'{names.ACCEPTED}': variables.suspended ? 'suspended' : 'as-given'}}
          : {{'{names.ACCEPTED}': variables.suspended ? 'suspended' : 'as-given',
              '{names.LOCAL_QUEUE}': string(variables.queue)}}
      }},
      spec: Object.spec{{
        suspend: variables.suspended &&
          (variables.first || variables.notes['{names.ACCEPTED}'] == 'suspended'),
        submissionMode: object.spec.?submissionMode.orValue('K8sJobMode') == 'HTTPMode'
          ? 'K8sJobMode' : object.spec.?submissionMode.orValue('K8sJobMode')
      }}
    }}"""
)
TAKEN = (
    "(variables.queue == '' ? [] : [JSONPatch{op: 'remove', "
    f"path: '/metadata/labels/' + jsonpatch.escapeKey('{naming.QUEUE_NAME}')}}]) + "
    "(variables.deadline <= 0 ? [] : [JSONPatch{op: 'add', "
    f"path: '/metadata/annotations/' + jsonpatch.escapeKey('{names.DEADLINE}'), "
    "value: string(variables.deadline)}, "
    "JSONPatch{op: 'remove', path: '/spec/activeDeadlineSeconds'}])"
)
"""What is taken from the job: the label of a queue, and a deadline that would count while it waits."""

_CONTAINER = "object.spec.template.spec.containers[0]"
WRAPPER = (
    'ray() { if [ "$1 $2" != "job submit" ] || [ -z "$' + _RUNTIME_ENV + '" ]; '
    'then command ray "$@"; return; fi; '
    'local given=(); while [ "$1" != -- ]; do given+=("$1"); shift; done; '
    f'command ray "${{given[@]}}" --entrypoint-resources "${_RESOURCES}" '
    f'--runtime-env-json "${_RUNTIME_ENV}" "$@"; }}; '
)
"""Put before KubeRay's script: of an option that is given twice, `ray` takes the last."""

SUBMITTER = {
    "managed": (
        f"has(params.spec.ray) && has({_CONTAINER}.env) && {_CONTAINER}.env.exists(e, "
        "e.name == 'RAY_DASHBOARD_ADDRESS' && params.spec.ray.managedClusters.exists(c, "
        "e.?value.orValue('').startsWith(c.name + '-head-svc.')))"
    ),
    "owned": "has(object.metadata.ownerReferences) && size(object.metadata.ownerReferences) > 0",
}
"""Conditions: whose submitters are meant. KubeRay's Job says no more than the head's address."""

HOLDING = {
    "script": (
        f"has({_CONTAINER}.args) && size({_CONTAINER}.args) == 1 && has({_CONTAINER}.command) && "
        f"{_CONTAINER}.command == ['/bin/bash', '-ce', '--'] ? {_CONTAINER}.args[0] : ''"
    ),
}
_ENV = "Object.spec.template.spec.containers.env"


def _from_annotation(variable: str, annotation: str) -> str:
    path = f"metadata.annotations['{annotation}']"
    return (
        f"{_ENV}{{name: '{variable}', valueFrom: {_ENV}.valueFrom{{"
        f"fieldRef: {_ENV}.valueFrom.fieldRef{{fieldPath: {json.dumps(path)}}}}}}}"
    )


HELD = dedent(
    f"""\
    Object{{spec: Object.spec{{template: Object.spec.template{{
      metadata: Object.spec.template.metadata{{labels: {{
        '{names.SUBMITTER}': 'true',
        '{names.RAY_JOB_UID}': string(object.metadata.ownerReferences[0].uid)
      }}}},
      spec: Object.spec.template.spec{{
        schedulingGates: [Object.spec.template.spec.schedulingGates{{name: '{names.GATE}'}}]
      }}
    }}}}}}"""
)
WRAPPED = dedent(
    f"""\
    variables.script == '' ? [] : [
      JSONPatch{{op: 'add', path: '/spec/template/spec/containers/0/env/-', value:
        {_from_annotation(_RESOURCES, names.RESOURCES)}}},
      JSONPatch{{op: 'add', path: '/spec/template/spec/containers/0/env/-', value:
        {_from_annotation(_RUNTIME_ENV, names.RUNTIME_ENV)}}},
      JSONPatch{{op: 'replace', path: '/spec/template/spec/containers/0/args/0', value:
        {json.dumps(WRAPPER)} + variables.script}}
    ]"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule and what is said when it does not hold; both are expressions."""

    holds: str
    message: str


_CREATED = "request.operation != 'CREATE' || "


def _text(text: str) -> str:
    return json.dumps(text)


def _formed(annotation: str, pattern: str, example: str) -> Rule:
    return Rule(
        holds=(
            f"{_CREATED}!('{annotation}' in variables.notes) || "
            f"variables.notes['{annotation}'].matches({json.dumps(f'^({pattern})$')})"
        ),
        message=f"'annotation {annotation}: \\'' + variables.notes['{annotation}'] + '\\' is not {example}'",
    )


def _frozen(path: str, name: str) -> Rule:
    return Rule(
        holds=f"request.operation == 'CREATE' || object.{path} == oldObject.{path}",
        message=_text(f"{name} cannot be changed: its workers were asked for; make another RayJob"),
    )


CHECKING = {
    "notes": _NOTES,
    "poolName": f"variables.notes[?'{names.POOL}'].orValue('{names.DEFAULT_POOL}')",
    "pools": "params.spec.ray.poolMappings.filter(p, p.pool == variables.poolName)",
    "users": "size(variables.pools) == 0 ? [] : variables.pools[0].?allowedUsers.orValue([])",
    "groups": "size(variables.pools) == 0 ? [] : variables.pools[0].?allowedGroups.orValue([])",
    "limit": "size(variables.pools) == 0 ? 0 : variables.pools[0].?maxWorkers.orValue(0)",
}

RULES = (
    Rule(
        holds=f"{_CREATED}!object.spec.?suspend.orValue(false)",
        message=_text(
            "suspend: KubeRay does not suspend a job of a shared cluster; create it when it may run"
        ),
    ),
    Rule(
        holds=f"{_CREATED}object.spec.?backoffLimit.orValue(0) == 0",
        message=_text(
            "backoffLimit: KubeRay retries only with a cluster of its own; the bridge requeues by itself"
        ),
    ),
    Rule(
        holds=f"{_CREATED}object.spec.?submissionMode.orValue('K8sJobMode') in ['K8sJobMode', 'HTTPMode']",
        message=_text("submissionMode: only K8sJobMode can be held until there is capacity"),
    ),
    Rule(
        holds=f"{_CREATED}size(object.metadata.name) <= {_LONGEST_NAME}",
        message=_text(f"its name has more than {_LONGEST_NAME} characters, which KubeRay refuses"),
    ),
    _formed(names.WORKERS, "[1-9][0-9]{0,5}", "a whole number from 1 on"),
    _formed(
        names.WORKER_CPUS, r"[0-9]{1,5}(\.[0-9]{1,3})?|[0-9]{1,8}m", "a number of CPUs such as 2, 0.5 or 500m"
    ),
    _formed(names.WORKER_GPUS, "[0-9]{1,6}", "a whole number"),
    _formed(
        names.WORKER_MEMORY,
        r"[0-9]{1,6}|[0-9]+(\.[0-9]+)?([KMGTP]i|[kMGTP])?",
        "a memory size such as 512Mi or 64Gi",
    ),
    _formed(names.MAX_REQUEUES, "[0-9]{1,6}", "a whole number"),
    Rule(
        holds=f"{_CREATED}size(variables.pools) > 0",
        message="'UnmanagedPool: pool \\'' + variables.poolName + '\\' is not among the poolMappings'",
    ),
    Rule(
        holds=(
            f"{_CREATED}size(variables.users) + size(variables.groups) == 0 || "
            "request.userInfo.username in variables.users || "
            "request.userInfo.?groups.orValue([]).exists(g, g in variables.groups)"
        ),
        message="'user ' + request.userInfo.username + ' may not use pool \\'' + variables.poolName + '\\''",
    ),
    Rule(
        holds=(
            f"{_CREATED}variables.limit == 0 || "
            f"!variables.notes[?'{names.WORKERS}'].orValue('1').matches('^[0-9]{{1,6}}$') || "
            f"int(variables.notes[?'{names.WORKERS}'].orValue('1')) <= variables.limit"
        ),
        message=(
            "'pool \\'' + variables.poolName + '\\' allows one job ' + string(variables.limit) + ' workers'"
        ),
    ),
    *(
        _frozen(f"spec.?{field}", f"spec.{field}")
        for field in (
            "backoffLimit",
            "clusterSelector",
            "entrypoint",
            "entrypointResources",
            "runtimeEnvYAML",
            "submissionMode",
            "submitterPodTemplate",
        )
    ),
    *(
        _frozen(f"metadata.?annotations[?'{annotation}']", f"annotation {annotation}")
        for annotation in names.ASKED
    ),
)
"""Rules of jobs that are meant; the first that does not hold is told."""
