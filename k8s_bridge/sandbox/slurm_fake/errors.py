"""slurmctld's error numbers, with the texts that slurmrestd gives for them."""

from __future__ import annotations

from enum import IntEnum


class Errno(IntEnum):
    """The numbers that the bridge meets (slurm_errno.h)."""

    UNSPECIFIED = -1
    UNEXPECTED_MESSAGE = 1000
    AUTHENTICATION = 1007
    CONTROLLER_AWAY = 1800
    PARTITION_NAME = 2000
    ACCESS_DENIED = 2002
    FOREIGN_JOB = 2010
    NODE_CONFIGURATION = 2014
    PARTITION_CONFIGURATION = 2015
    NODES_BUSY = 2016
    JOB_ID = 2017
    NODE_NAME = 2018
    SCRIPT = 2019
    JOB_FINISHED = 2021
    NODE_STATE = 2028
    FEATURE = 2029
    DEPENDENCY = 2038
    JOB_HELD = 2042
    LICENSES = 2048
    RESERVATION = 2053
    GRES = 2072
    JOB_NOT_PENDING = 2073
    ARRAY = 2081
    JOB_OVER = 2084
    TRES = 2115
    REQUEST = 9000


_TEXTS = {
    Errno.UNSPECIFIED: "Unspecified error",
    Errno.UNEXPECTED_MESSAGE: "Unexpected message received",
    Errno.AUTHENTICATION: "Protocol authentication error",
    Errno.CONTROLLER_AWAY: "Unable to contact slurm controller (connect failure)",
    Errno.PARTITION_NAME: "Invalid partition name specified",
    Errno.ACCESS_DENIED: "Access/permission denied",
    Errno.FOREIGN_JOB: "Invalid user id",
    Errno.NODE_CONFIGURATION: "Requested node configuration is not available",
    Errno.PARTITION_CONFIGURATION: "Requested partition configuration not available now",
    Errno.NODES_BUSY: "Requested nodes are busy",
    Errno.JOB_ID: "Invalid job id specified",
    Errno.NODE_NAME: "Invalid node name specified",
    Errno.SCRIPT: "I/O error writing script/environment to file",
    Errno.JOB_FINISHED: "Job/step already completing or completed",
    Errno.NODE_STATE: "Invalid node state specified",
    Errno.FEATURE: "Invalid feature specification",
    Errno.DEPENDENCY: "Job dependency problem",
    Errno.JOB_HELD: "Job is in held state, pending scheduler release",
    Errno.LICENSES: "Invalid license specification",
    Errno.RESERVATION: "Requested reservation is invalid",
    Errno.GRES: "Invalid generic resource (gres) specification",
    Errno.JOB_NOT_PENDING: "Job is no longer pending execution",
    Errno.ARRAY: "Invalid job array specification",
    Errno.JOB_OVER: "Job has already finished",
    Errno.REQUEST: "Query empty or not RFC7320 compliant",
    Errno.TRES: "Invalid Trackable RESource (TRES) specification",
}


class SlurmError(Exception):
    """slurmctld refuses; `number` says why."""

    def __init__(self, number: Errno) -> None:
        super().__init__(_TEXTS[number])
        self.number = number
