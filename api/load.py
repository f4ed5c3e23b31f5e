"""From data to a WorkloadMixing, or to everything that is wrong with it.

Reads what it is given; opening files and asking the API server is the caller's part.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from api.check import Finding, check
from api.problems import InvalidWorkloadMixing, Path, Problem, spell, translate
from api.v1alpha1.ray import RaySpec
from api.v1alpha1.status import WorkloadMixingStatus
from api.v1alpha1.workloadmixing import WorkloadMixing
from api.yamltext import parse_yaml

M = TypeVar("M", bound=BaseModel)

_FREE = "podTemplate"
_DOCUMENT_FIELDS = ("apiVersion", "kind", "metadata", "spec")


def parse_workloadmixing(data: Mapping[str, Any]) -> WorkloadMixing:
    """The resource as the API server gives it. InvalidWorkloadMixing with all problems.

    null means absent. A status that cannot be read counts as empty: it is ours to write again.
    """
    return _read(data, model=WorkloadMixing)


def load_file(text: str, *, name: str = "file", namespace: str = "default") -> WorkloadMixing:
    """The WorkloadMixing in a YAML text: the whole resource, or only its spec.

    A bare spec may carry `namespace` as the prototype's file did; else `name` and `namespace` are taken.
    InvalidWorkloadMixing with all problems and their lines.
    """
    document = parse_yaml(text)
    data = _object(document.data)
    if any(field in data for field in _DOCUMENT_FIELDS):
        return _read(data, model=WorkloadMixing, line=document.line)
    metadata = {"name": name, "namespace": data.get("namespace") or namespace}
    spec = {field: value for field, value in data.items() if field != "namespace"}
    return _read(
        {"metadata": metadata, "spec": spec},
        model=WorkloadMixing,
        line=document.line,
        prefix=("spec",),
    )


def load_ray_file(text: str) -> RaySpec:
    """The `ray` section alone in a YAML text, for a Ray bridge without Slurm.

    `namespace`, which the prototype's file carried, is the caller's to read. InvalidWorkloadMixing as above.
    """
    document = parse_yaml(text)
    data = {field: value for field, value in _object(document.data).items() if field != "namespace"}
    return _read(data, model=RaySpec, line=document.line)


def _object(data: object) -> Mapping[str, Any]:
    if isinstance(data, Mapping):
        return data
    problem = Problem(
        path=spell(()), why="is not an object", fix="write a WorkloadMixing, or its spec", line=1
    )
    raise InvalidWorkloadMixing((problem,))


def _unknown_line(path: Path) -> int:  # noqa: ARG001  # data from the API server has no lines
    return 0


def _read(
    data: Mapping[str, Any],
    *,
    model: type[M],
    line: Callable[[Path], int] = _unknown_line,
    prefix: Path = (),
) -> M:
    """`data` as `model`. `prefix` is what stands before paths in the model, but not in the document."""
    clean = _absent(data)
    if "status" in clean and not _readable(clean["status"]):
        clean = {key: value for key, value in clean.items() if key != "status"}
    findings = list(check(clean, model=model))
    value = None
    try:
        value = model.model_validate_json(json.dumps(clean), by_alias=True, by_name=False)
    except ValidationError as error:
        findings = [*translate(error, model=model), *findings]
    if value is None or findings:
        raise InvalidWorkloadMixing(_problems(findings, line=line, prefix=prefix))
    return value


def _problems(findings: list[Finding], *, line: Callable[[Path], int], prefix: Path) -> tuple[Problem, ...]:
    shown = []
    for path, why, fix in findings:
        at = path[len(prefix) :] if path[: len(prefix)] == prefix else path
        shown.append(Problem(path=spell(at), why=why, fix=fix, line=line(at)))
    return tuple(sorted(shown, key=lambda problem: problem.line))


def _readable(status: object) -> bool:
    try:
        WorkloadMixingStatus.model_validate_json(json.dumps(status), by_alias=True, by_name=False)
    except ValidationError:
        return False
    return True


def _absent(value: Any) -> Any:
    """`value` without nulls in objects, which mean absence; pod templates stay as they are."""
    match value:
        case Mapping():
            return {
                key: inner if key == _FREE else _absent(inner)
                for key, inner in value.items()
                if inner is not None
            }
        case list():
            return [_absent(inner) for inner in value]
        case _:
            return value
