"""A job description as REST clients send it, turned into record fields; unknown keys become warnings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from k8s_bridge.sandbox.slurm_fake.errors import Errno, SlurmError

_RENAMED = {
    "constraints": "features",
    "core_specification": "core_spec",
    "maximum_cpus": "max_cpus",
    "maximum_nodes": "max_nodes",
    "minimum_nodes": "node_count",
    "ntasks_per_tres": "tasks_per_tres",
    "reservation": "resv_name",
    "temporary_disk_per_node": "minimum_tmp_disk_per_node",
    "thread_specification": "thread_spec",
}
_NOT_SHOWN = frozenset(
    {
        "argv", "array", "begin_time", "container_id", "cpu_binding", "cpu_binding_flags",
        "cpu_frequency", "distribution", "environment", "hold", "immediate", "job_id",
        "kill_on_node_fail", "kill_warning_delay", "kill_warning_flags", "kill_warning_signal",
        "memory_binding", "minimum_boards_per_node", "minimum_cpus", "minimum_sockets_per_board",
        "nodes", "open_mode", "overcommit", "priority", "rlimits", "script", "site_factor",
        "spank_environment", "wait_all_nodes", "wait_for_switch", "x11",
    }
)  # fmt: skip
_SHOWN = frozenset(
    {
        "account", "admin_comment", "batch_features", "burst_buffer", "comment", "container",
        "contiguous", "cpus_per_task", "cpus_per_tres", "current_working_directory", "deadline",
        "delay_boot", "dependency", "excluded_nodes", "extra", "flags", "licenses", "mail_type",
        "mail_user", "mcs_label", "memory_per_cpu", "memory_per_node", "memory_per_tres",
        "minimum_cpus_per_node", "name", "network", "nice", "partition", "prefer", "profile", "qos",
        "reboot", "required_nodes", "required_switches", "requeue", "selinux_context", "shared",
        "sockets_per_node", "standard_error", "standard_input", "standard_output", "tasks",
        "tasks_per_board", "tasks_per_core", "tasks_per_node", "tasks_per_socket",
        "threads_per_core", "time_limit", "time_minimum", "tres_bind", "tres_freq", "tres_per_job",
        "tres_per_node", "tres_per_socket", "tres_per_task", "wckey",
    }
)  # fmt: skip
_ASKED = {
    "EXACT_TASK_COUNT_REQUESTED": ("tasks",),
    "EXACT_MEMORY_REQUESTED": ("memory_per_node", "memory_per_cpu"),
}
_DEFAULTED = ("account", "partition", "qos", "wckey")
_WRONG_LIST = "Expected OpenAPI type=array (Slurm type=list) but got OpenAPI type=string (Slurm type=string)"
_LISTS = frozenset({"required_nodes", "excluded_nodes"})
_ARRAY = re.compile(r"\d+(-\d+(:\d+)?)?(,\d+(-\d+(:\d+)?)?)*(%\d+)?")
_SLEEP = re.compile(r"\bsleep\s+(\d+(?:\.\d+)?)")
_EXIT = re.compile(r"\bexit\s+(\d+)")
_JSON_TYPES = {bool: "boolean", int: "64 bit integer", float: "floating point number", str: "string"}

Warnings = list[dict[str, str]]


def record_fields(description: Mapping[str, Any], *, template: Mapping[str, Any]) -> dict[str, Any]:
    """The record fields that a description sets, in the shapes of `template`."""
    fields: dict[str, Any] = {}
    for key, value in description.items():
        name = _RENAMED.get(key, key)
        if key in _LISTS:
            # An empty list changes nothing; a list of "" clears.
            if value:
                fields[name] = ",".join(node_list(value))
        elif key in _SHOWN or key in _RENAMED:
            fields[name] = _spelled(name, shaped(value, template.get(name)))
    if "memory_per_cpu" in fields:
        fields.setdefault("memory_per_node", {"set": False, "infinite": False, "number": 0})
    return fields


def flags(description: Mapping[str, Any]) -> list[str]:
    """The job's flags that tell what was asked for and what was not."""
    asked = [flag for flag, keys in _ASKED.items() if not description.keys().isdisjoint(keys)]
    left = [f"USING_DEFAULT_{key.upper()}" for key in _DEFAULTED if not description.get(key)]
    return [*asked, *left, "DEPENDENT", *([] if description.get("partition") else ["PARTITION_ASSIGNED"])]


def unknown_warnings(description: Mapping[str, Any], *, at: str = "#") -> Warnings:
    """What slurmrestd warns about: it ignores such keys, and a wrong type of a list."""
    warnings: Warnings = []
    for key, value in description.items():
        if key in _LISTS and isinstance(value, str):
            text = f'{_WRONG_LIST}: "{value}"'
            warnings.append({"description": text, "source": f"{at}/{key}/"})
        elif key == "job" and isinstance(value, Mapping):
            warnings += [_ignored(inner, kind, at=f"{at}/job") for inner, kind in value.items()]
        elif key not in _SHOWN | _NOT_SHOWN and key not in _RENAMED:
            warnings.append(_ignored(key, value, at=at))
    return warnings


def node_list(value: str | list[str]) -> list[str]:
    """Names in a list or a comma-separated string, without empty ones."""
    names = value.split(",") if isinstance(value, str) else value
    return [name for name in names if name]


def shaped(value: Any, example: Any) -> Any:
    """`value` in the shape of `example`: wrapped where the record wraps numbers, plain where it does not."""
    wrapped = isinstance(example, Mapping) and "infinite" in example
    if wrapped and not isinstance(value, Mapping):
        return {"set": True, "infinite": False, "number": int(value)}
    if isinstance(value, Mapping) and not wrapped and "number" in value:
        return value["number"]
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What a batch script does: run for `run_time` seconds, then exit."""

    run_time: float = 0.0
    exit_code: int = 0


def read_script(text: str) -> Script:
    """The sum of its sleeps, and its last exit."""
    exits = _EXIT.findall(text)
    run_time = sum(map(float, _SLEEP.findall(text)))
    return Script(run_time=run_time, exit_code=int(exits[-1]) if exits else 0)


def array_tasks(text: str) -> tuple[list[int], int]:
    """The task numbers of `--array`, and the limit after %, 0 for none."""
    if not _ARRAY.fullmatch(text):
        raise SlurmError(Errno.ARRAY)
    ranges, _, limit = text.partition("%")
    tasks: list[int] = []
    for item in ranges.split(","):
        span, _, step = item.partition(":")
        first, _, last = span.partition("-")
        tasks += range(int(first), int(last or first) + 1, int(step or 1))
    return tasks, int(limit or 0)


def _spelled(name: str, value: Any) -> Any:
    """GRES as slurmctld writes them back."""
    gres = isinstance(value, str) and "tres" in name
    return re.sub(r"\bgres:", "gres/", value) if gres else value


def _ignored(key: str, value: Any, *, at: str) -> dict[str, str]:
    kind = _JSON_TYPES.get(type(value), "list" if isinstance(value, list) else "dictionary")
    text = f'Ignoring unknown field "{key}" of type {kind} in DATA_PARSER_JOB_DESC_MSG'
    return {"description": text, "source": f"{at}/{key}/"}
