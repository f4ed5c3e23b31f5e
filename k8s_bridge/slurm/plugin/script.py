"""job_submit.lua: the managed partitions and refusals as data, and the program that is always the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

from k8s_bridge.core import naming
from k8s_bridge.slurm.facts import TEXT_PREFIX
from k8s_bridge.slurm.layout.refusals import ROWS
from k8s_bridge.slurm.plugin.lua import quote
from k8s_bridge.slurm.plugin.partitions import Partition

MARK = "made by k8s-bridge slurm-plugin"
"""Stands in the first lines of every file, so that only our own files are ever written over."""

_HEAD = f"""\
-- job_submit.lua, {MARK}: make it again when partitionMappings change.
-- It lies beside slurm.conf (JobSubmitPlugins=lua); slurmctld reads it again when it changes.
--
-- In managed partitions a job is held as it is submitted (the bridge releases it when Kueue admits it), and
-- options that cannot be met are refused by name. Jobs of other partitions are left alone, but nobody may ask
-- for the features that mark the nodes of one job. An owner cannot release a job past Kueue.
-- An error in here is logged and blocks no job: a managed one stays held, and the bridge itself refuses what
-- it cannot meet; any other goes on as if this script were not there.
--
-- A job_submit.lua of your own can call this one: name it k8s-bridge.lua, and write
--   dofile("/etc/slurm/k8s-bridge.lua")
--   local bridge_submit = slurm_job_submit
--   function slurm_job_submit(job, partitions, submit_uid)
--     ...                                              -- your rules
--     return bridge_submit(job, partitions, submit_uid) -- last, so that it sees what you changed
--   end

"""


def job_submit(partitions: Iterable[Partition]) -> str:
    """The script for one Slurm cluster."""
    partitions = tuple(partitions)
    program = files(__package__).joinpath("job_submit.lua").read_text(encoding="utf-8")
    return f"{_HEAD}{_data(partitions)}\n{program}"


def refusals() -> Mapping[str, str]:
    """By option what the user is told: the first of its reasons; the bridge itself sees the others."""
    first: dict[str, str] = {}
    for row in ROWS:
        first.setdefault(row.option, row.text)
    return first


def _data(partitions: Sequence[Partition]) -> str:
    feature = naming.node_feature(0).removesuffix("0")
    managed = [f"  [{quote(one.name)}] = {_set(one.met)}," for one in partitions]
    caps = [
        f"  [{quote(one.name)}] = {one.priority_cap}," for one in partitions if one.priority_cap is not None
    ]
    refused = [f"  {{ {quote(option)}, {quote(text)} }}," for option, text in refusals().items()]
    return "\n".join(
        (
            f"local PREFIX = {quote(TEXT_PREFIX)}",
            f"local FEATURE = {quote(feature)}",
            "-- Managed partitions, each with the options that it meets although the rest cannot.",
            *("local MANAGED = {", *managed, "}"),
            "-- Those in which wm:prio=N in a comment is heeded, each with its cap; 0 is none.",
            *("local PRIORITY = {", *caps, "}"),
            "-- Options that cannot be met, and what the user is told.",
            *("local REFUSED = {", *refused, "}"),
            "",
        )
    )


def _set(options: frozenset[str]) -> str:
    items = ", ".join(f"[{quote(option)}] = true" for option in sorted(options))
    return f"{{ {items} }}" if items else "{}"
