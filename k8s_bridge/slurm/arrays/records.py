"""The records that slurmctld keeps of one array."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from k8s_bridge.slurm.model import Job


def speaker(own: Job, records: Iterable[Job]) -> Job:
    """The record that says what a task needs, under the array's id and identity.

    The array's own record does while tasks wait that never started. Later it is that of its last task, and
    one that was requeued speaks.
    """
    if own.array_job_id is None or own.pending:
        return own
    waiting = next((record for record in records if record.pending), None)
    if waiting is None:
        return own
    return msgspec.structs.replace(
        waiting, job_id=own.job_id, submit_time=own.submit_time, restart_count=own.restart_count
    )
