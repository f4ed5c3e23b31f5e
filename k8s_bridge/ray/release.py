"""What a job was last released on, so that a later look tells whether that capacity is still the same. Pure.

Everything in it is the API server's own: no clock of ours is compared with one of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from api.views import Pod
from k8s_bridge.core.admission import Admission


class Release(NamedTuple):
    """A submission and the capacity under it; written into an annotation of the RayJob. Unix seconds.

    `admitted` is when Kueue admitted the Workload, `youngest` when the last worker pod was made.
    """

    job_id: str
    workload_uid: str
    admitted: int
    youngest: int

    def __str__(self) -> str:
        return f"{self.job_id} {self.workload_uid} {self.admitted} {self.youngest}"

    @classmethod
    def parse(cls, text: str) -> Release | None:
        """The release in an annotation; None when there is none, or none that can be read."""
        try:
            job_id, uid, admitted, youngest = text.split(" ")
            return cls(job_id, uid, int(admitted), int(youngest))
        except ValueError:
            return None

    @classmethod
    def on(cls, job_id: str, *, admission: Admission, pods: Iterable[Pod]) -> Release:
        """The release of a submission on what is there now."""
        return cls(job_id, admission.workload_uid, int(admission.since), youngest(pods))

    def still(self, admission: Admission) -> bool:
        """Whether an admitted Workload is the same, and was not taken back and given again since."""
        return self.workload_uid == admission.workload_uid and self.admitted == int(admission.since)


def youngest(pods: Iterable[Pod]) -> int:
    """When the last of the pods was made; 0 when that is not known."""
    made = [when for pod in pods if (when := pod.metadata.creation_timestamp) is not None]
    return int(max(made).timestamp()) if made else 0
