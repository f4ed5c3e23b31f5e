"""What slurmctld is to a job_submit.lua, without slurmctld."""

from __future__ import annotations

import importlib
from typing import Any

from api.load import parse_workloadmixing
from api.v1alpha1 import WorkloadMixing
from k8s_bridge.slurm.plugin import bundle

VERSIONS = ("lua51", "lua52", "lua53", "lua54")
"""Debian builds Slurm with 5.1; others with whatever their distribution has."""

UNSET_16, UNSET_32 = 65534.0, 4294967294.0
UNSET: dict[str, Any] = {
    **dict.fromkeys(("num_tasks", "min_nodes", "max_nodes", "req_switch", "pn_min_tmp_disk"), UNSET_32),
    **dict.fromkeys(("het_job_offset", "priority"), UNSET_32),
    **dict.fromkeys(("ntasks_per_socket", "ntasks_per_core", "ntasks_per_tres", "reboot"), UNSET_16),
    **dict.fromkeys(("sockets_per_node", "cores_per_socket", "threads_per_core", "shared"), UNSET_16),
    **dict.fromkeys(("ntasks_per_board", "contiguous"), 0.0),
    "min_cpus": 1.0,
    "bitflags": 503316480.0,
}
"""A plain sbatch as slurmctld 24.11 hands it to the script."""


def mixing(*partitions: str | dict[str, Any], **spec: Any) -> WorkloadMixing:
    mappings = [p if isinstance(p, dict) else {"partitionName": p} for p in partitions]
    return parse_workloadmixing(
        {
            "metadata": {"name": "main", "namespace": "hpc"},
            "spec": {
                "slurmRestURL": "https://slurm:6820",
                "localQueue": "hpc",
                "partitionMappings": [{"workloadPriorityClass": "normal", **one} for one in mappings],
                "slurmd": {"image": "slurmd:1", "confServer": "ctl:6817", "authSecretName": "slurm"},
                **spec,
            },
        }
    )


def script(*mixings: WorkloadMixing) -> str:
    return bundle(mixings, max_nodes=100, nudge="")[0].text


class Slurmctld:
    """Runs a job_submit.lua as slurmctld does: `slurm` with its functions and constants, tables as jobs."""

    def __init__(self, source: str, *, version: str = "lua51", default: str = "other") -> None:
        self.lua = importlib.import_module(f"lupa.{version}").LuaRuntime(unpack_returned_tuples=True)
        self.told: list[str] = []
        self.logged: list[str] = []
        self.lua.globals().slurm = self.lua.table_from(
            {
                "SUCCESS": 0,
                "ERROR": -1,
                "ESLURM_ACCESS_DENIED": 2002,
                "SPREAD_JOB": 256.0,
                "GRES_ENFORCE_BIND": 16.0,
                "log_user": lambda form, text: self.told.append(form.replace("%s", text)),
                "log_error": lambda form, text: self.logged.append(form.replace("%s", text)),
            }
        )
        self.lua.execute(source)
        self._default = default

    def submit(self, **fields: Any) -> tuple[int, dict[str, Any]]:
        """The return code, and the job as it is after the script."""
        job = self.lua.table_from({**UNSET, **fields})
        return int(self.lua.globals().slurm_job_submit(job, self._partitions(), 1000.0)), dict(job)

    def modify(
        self, record: dict[str, Any], *, uid: float = 1000.0, **fields: Any
    ) -> tuple[int, dict[str, Any]]:
        """The same for an update of a job that belongs to user 1000."""
        job = self.lua.table_from({"priority": UNSET_32, **fields})
        there = self.lua.table_from({"user_id": 1000.0, "priority": 1.0, **record})
        modify = self.lua.globals().slurm_job_modify
        return int(modify(job, there, self._partitions(), uid)), dict(job)

    def _partitions(self) -> Any:
        names = {"batch", "gpu", "other", self._default}
        return self.lua.table_from(
            {name: self.lua.table_from({"flag_default": float(name == self._default)}) for name in names}
        )
