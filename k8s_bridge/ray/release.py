"""What a job was last released on, so that a later look tells whether that capacity is still the same. Pure.

Everything in it is the API server's own: no clock of ours is compared with one of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from api.views import Pod, Workload
from k8s_bridge.core.admission import condition

_FIELDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A submission and the capacity under it; written into an annotation of the RayJob.

    `admitted` is when Kueue admitted the Workload, `youngest` when the last worker pod was made.
    """

    job_id: str
    workload_uid: str
    admitted: str
    youngest: str

    def __str__(self) -> str:
        return f"{self.job_id} {self.workload_uid} {self.admitted} {self.youngest}"

    @classmethod
    def parse(cls, text: str) -> Release | None:
        """The release in an annotation; None when there is none, or none that can be read."""
        parts = text.split(" ")
        if len(parts) != _FIELDS:
            return None
        return cls(job_id=parts[0], workload_uid=parts[1], admitted=parts[2], youngest=parts[3])

    @classmethod
    def on(cls, job_id: str, *, workload: Workload | None, pods: tuple[Pod, ...]) -> Release:
        """The release of a submission on what is there now."""
        admitted = condition(workload.status.conditions, "Admitted") if workload else None
        made = [pod.metadata.creation_timestamp for pod in pods if pod.metadata.creation_timestamp]
        return cls(
            job_id=job_id,
            workload_uid=workload.metadata.uid if workload else "",
            admitted=_text(admitted.last_transition_time if admitted else None),
            youngest=_text(max(made, default=None)),
        )


def _text(when: datetime | None) -> str:
    return when.isoformat() if when else "-"
