"""slurm.conf and its companions for a small, fast, private cluster. Paths are as daemons see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

GPU_DEVICES = 8
_REPEATABLE = frozenset({"PartitionName", "NodeName", "NodeSet", "SlurmctldHost"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Conf:
    """What differs between clusters.

    `inside` is the directory as daemons see it, `address` where slurmctld listens.
    """

    inside: str
    address: str
    controller_port: int
    slurmd_port: int
    partitions: Sequence[str]
    extra: str


def slurm_conf(conf: Conf) -> str:
    """slurm.conf; a line of `extra` replaces ours of the same key."""
    lines = [line.strip() for line in conf.extra.splitlines() if line.strip()]
    given = {line.partition("=")[0] for line in lines} - _REPEATABLE
    ours = [f"{key}={value}" for key, value in _settings(conf).items() if key not in given]
    return "\n".join([*ours, *lines, *_partitions(conf.partitions)]) + "\n"


def gres_conf(inside: str) -> str:
    """GPUs as plain empty files: enough for slurmd to count and hand out."""
    return f"Name=gpu File={inside}/dev/nvidia[0-{GPU_DEVICES - 1}]\n"


def _partitions(names: Sequence[str]) -> list[str]:
    lines = [f"PartitionName={name} Nodes=ALL MaxTime=INFINITE State=UP" for name in names]
    return [f"{lines[0]} Default=YES", *lines[1:]]


def _settings(conf: Conf) -> dict[str, str]:
    return {**_places(conf), **_BEHAVIOUR}


def _places(conf: Conf) -> dict[str, str]:
    inside = conf.inside
    return {
        "ClusterName": "sandbox",
        "SlurmctldHost": f"localhost({conf.address})",
        "SlurmctldPort": str(conf.controller_port),
        "SlurmdPort": str(conf.slurmd_port),
        "AuthInfo": f"socket={inside}/munge/socket,cred_expire=5",
        "AuthAltParameters": f"jwt_key={inside}/etc/jwt_hs256.key",
        "StateSaveLocation": f"{inside}/state",
        "SlurmdSpoolDir": f"{inside}/spool/%n",
        "SlurmctldPidFile": f"{inside}/run/slurmctld.pid",
        "SlurmdPidFile": f"{inside}/run/slurmd.%n.pid",
    }


_BEHAVIOUR = {
    "CommunicationParameters": "NoCtldInAddrAny,NoInAddrAny",
    "AuthType": "auth/munge",
    "AuthAltTypes": "auth/jwt",
    "SlurmUser": "root",
    "SlurmdUser": "root",
    "ProctrackType": "proctrack/linuxproc",
    "TaskPlugin": "task/none",
    "JobAcctGatherType": "jobacct_gather/none",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_Core_Memory",
    "SchedulerType": "sched/backfill",
    "SchedulerParameters": "sched_min_interval=0,bf_interval=1,batch_sched_delay=0",
    "MaxNodeCount": "200",
    "TreeWidth": "65533",
    "ReturnToService": "2",
    "SlurmctldParameters": "enable_configless",
    "SlurmdParameters": "config_overrides",
    "SlurmdTimeout": "30",
    "KillWait": "2",
    "MinJobAge": "60",
    "MaxJobCount": "50000",
    "MpiDefault": "none",
    "GresTypes": "gpu",
    "RebootProgram": "/bin/true",
}
