"""What the JobSet webhook refuses: names too long for pods, and changes of what Jobs were made from. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.controllers.webhook import denied

_HOOK = "validate-jobset-x-k8s-io-v1alpha2-jobset.x-k8s.io"
_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LONGEST = 63
_SUFFIX = "-abcde"  # stands for the random end of a pod's name
_NOT_A_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_KUEUE_MAY_CHANGE = ("nodeSelector", "tolerations", "schedulingGates")


def validate(new: Json, old: Json | None) -> Json:
    """The JobSet itself; 403 for what the webhook refuses."""
    found = list(_bad_names(new)) if old is None else list(_changed(new, old))
    if found:
        raise denied(_HOOK, "\n".join(found))
    return new


def _bad_names(jobset: Json) -> Iterator[str]:
    for position, entry in enumerate(jobset["spec"].get("replicatedJobs") or ()):
        job = f"{jobset['metadata']['name']}-{entry['name']}-{entry.get('replicas', 1) - 1}"
        where = f'spec.replicatedJobs[{position}].name: Invalid value: "{job}": '
        yield from (where + why for why in _not_a_label(job, "job"))
        spec = entry["template"]["spec"]
        if spec.get("completionMode") == "Indexed" and spec.get("completions"):
            pod = f"{job}-{spec['completions'] - 1}{_SUFFIX}"
            yield from (where + why for why in _not_a_label(pod, "pod"))


def _not_a_label(name: str, what: str) -> Iterator[str]:
    if len(name) > _LONGEST:
        yield f"JobSet name is too long, {what} names generated for this JobSet will exceed 63 characters"
    if not _LABEL.fullmatch(name):
        yield _NOT_A_LABEL


def _changed(new: Json, old: Json) -> Iterator[str]:
    free = bool(new["spec"].get("suspend") or old["spec"].get("suspend"))
    wanted, have = (jobset["spec"].get("replicatedJobs") or [] for jobset in (new, old))
    if wanted == have:
        return
    if not free or [_fixed(entry) for entry in wanted] != [_fixed(entry) for entry in have]:
        value = json.dumps(wanted, separators=(",", ":"))
        yield f"spec.replicatedJobs: Invalid value: {value}: field is immutable"


def _fixed(entry: Json) -> Json:
    """A replicated job without what may change while its JobSet is suspended."""
    job = entry["template"]["spec"]
    pods = job["template"]
    kept = {key: value for key, value in pods["spec"].items() if key not in _KUEUE_MAY_CHANGE}
    return entry | {"template": entry["template"] | {"spec": job | {"template": kept}}}
