"""The State API's lists: rows, filters, limits, and what of a row is detail. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from starlette.datastructures import QueryParams

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.ray_fake import render
from k8s_bridge.sandbox.ray_fake.head import RayHead

_LIMIT, _MOST = 100, 10_000
_DETAIL = frozenset(
    {
        "start_time_ms", "end_time_ms", "creation_time_ms", "required_resources", "label_selector", "bundles",
        "runtime_env_info", "placement_group_id", "is_detached", "death_cause",
    }
)  # fmt: skip
_UNFILTERABLE = frozenset({"state_message", "resources_total", "labels"}) | _DETAIL


Rows = Callable[[RayHead], list[Json]]


def _nodes(head: RayHead) -> list[Json]:
    return [render.node(node) for node in head.nodes.values()]


def _actors(head: RayHead) -> list[Json]:
    return [*map(render.supervisor, head.jobs.values()), *head.actors]


TABLES: Mapping[str, Rows] = {
    "nodes": _nodes,
    "actors": _actors,
    "tasks": lambda head: head.tasks,
    "placement_groups": lambda head: head.placement_groups,
    "jobs": lambda head: [render.details(job) for job in head.jobs.values()],
}


def listing(rows: Sequence[Json], query: QueryParams) -> Json:
    """The `data.result` of a list. ValueError for a limit or a filter that is not supported."""
    limit = int(query.get("limit") or _LIMIT)
    if limit > _MOST:
        raise ValueError(f"Given limit {limit} exceeds the supported limit {_MOST}. Use a lower limit.")
    names = ("filter_keys", "filter_predicates", "filter_values")
    wanted = list(zip(*(query.getlist(name) for name in names), strict=False))
    found = [row for row in rows if all(_matches(row, *each) for each in wanted)]
    detail = str(query.get("detail", "")).lower() in ("1", "true")
    return {
        "total": len(rows),
        "num_after_truncation": len(rows),
        "num_filtered": len(found),
        "result": [row if detail else _brief(row) for row in found[:limit]],
        "partial_failure_warning": "",
        "warnings": None,
    }


def _brief(row: Json) -> Json:
    return {name: value for name, value in row.items() if name not in _DETAIL}


def _matches(row: Json, key: str, predicate: str, value: str) -> bool:
    key = key.lower()
    if key not in row or key in _UNFILTERABLE:
        raise ValueError(f"The given filter column {key} is not supported.")
    if predicate not in ("=", "!="):
        raise ValueError(f"Unsupported filter predicate {predicate} is given. Available predicates: =, !=.")
    same = str(row[key]).lower() == value.lower()
    return same is (predicate == "=")
