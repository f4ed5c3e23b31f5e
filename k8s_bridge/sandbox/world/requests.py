"""One Slurm job as a user asks for it, said to the real sbatch or to the fake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from k8s_bridge.sandbox.world.config import BATCH


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """Options by the names that sbatch gives them; memory and `tmp` in MiB, `time` in minutes.

    `more` are the further components of a heterogeneous job, which share the script of the first.

    `nodes` is a count or a range such as "1-3". The script sleeps for `seconds` and exits with `code`.
    """

    name: str = "job"
    array: str = ""
    more: tuple[JobRequest, ...] = ()
    partition: str = BATCH
    account: str = ""
    nodes: str = ""
    ntasks: int | None = None
    cpus_per_task: int | None = None
    ntasks_per_node: int | None = None
    mem: int | None = None
    mem_per_cpu: int | None = None
    gpus_per_node: int | None = None
    time: int | None = None
    tmp: int | None = None
    requeue: bool = True
    comment: str = ""
    seconds: float = 1.0
    code: int = 0

    @property
    def script(self) -> str:
        """The batch script."""
        return f"#!/bin/sh\nsleep {self.seconds:g}\nexit {self.code}\n"

    def arguments(self) -> list[str]:
        """For sbatch."""
        values = {
            "job-name": self.name,
            "array": self.array,
            "partition": self.partition,
            "account": self.account,
            "nodes": self.nodes,
            "ntasks": self.ntasks,
            "cpus-per-task": self.cpus_per_task,
            "ntasks-per-node": self.ntasks_per_node,
            "mem": self.mem,
            "mem-per-cpu": self.mem_per_cpu,
            "gres": f"gpu:{self.gpus_per_node}" if self.gpus_per_node else None,
            "time": self.time,
            "tmp": self.tmp,
            "comment": self.comment,
        }
        given = [f"--{option}={value}" for option, value in values.items() if value not in (None, "")]
        components = [word for one in self.more for word in (":", *one.arguments())]
        return ["--hold", "--requeue" if self.requeue else "--no-requeue", *given, *components]

    def description(self) -> dict[str, Any]:
        """For slurmrestd's job submission."""
        least, _, most = self.nodes.partition("-")
        values = {
            "name": self.name,
            "array": self.array or None,
            "partition": self.partition,
            "account": self.account or None,
            "minimum_nodes": int(least) if least else None,
            "maximum_nodes": int(most or least) if least else None,
            "tasks": self.ntasks,
            "cpus_per_task": self.cpus_per_task,
            "tasks_per_node": self.ntasks_per_node,
            "memory_per_node": self.mem,
            "memory_per_cpu": self.mem_per_cpu,
            "tres_per_node": f"gres/gpu:{self.gpus_per_node}" if self.gpus_per_node else None,
            "time_limit": self.time,
            "temporary_disk_per_node": self.tmp,
            "requeue": self.requeue,
            "comment": self.comment or None,
        }
        return {key: value for key, value in values.items() if value is not None}
