"""What becomes of a job that a fault strikes: by fault, and by where the job is when the fault begins.

tests/sandbox/faults/test_matrix.py tries every cell; docs/faults.md is made from it. Not in it are faults

- whose outcome rests on how long they last, or on chance: rest-malformed-items, rest-stale, rest-not-json,
  bridge-frozen, two-leaders;
- that come to the same as another: clusterqueue-drained and workload-deactivated as queue-drained;
- that keep the bridge asking for a minute, which costs the test as much: api-down, rest-empty-lists.
"""

from __future__ import annotations

from collections.abc import Mapping

from support.fault_trial import Outcome, Stage

_U, _N, _L = Outcome.UNDISTURBED, Outcome.NODES_LATER, Outcome.LATER
_A, _B, _X = Outcome.AGAIN, Outcome.AGAIN_LATER, Outcome.NOTHING
_LETTERS = {"U": _U, "N": _N, "L": _L, "A": _A, "B": _B, "-": _X}

_TABLE = """
api-conflicts         U U U U U
api-errors            U U U U U
api-throttled         U U U U U
api-compacted         U U U U U
api-slow              U U U U U
api-trickle           U U U U U
api-half-open         U U U U U
api-lost-answers      U U U U U
watches-cut           U U U U U
watches-ended         U U U U U
watches-gone          U U U U U
webhook-down          L U U U U
webhook-refuses       L U U U U
rest-errors           U U U U U
rest-down             L L L N N
rest-timeouts         U U U U U
rest-slow             U U U U U
rest-lost-answers     U U U U U
token-expired         L L L N N
slurmctld-restarts    U U U U U
slurmctld-away        L L L L N
slurmctld-ahead       U U U U U
slurmctld-behind      U U U U U
pod-deleted           - - U A U
pod-vanishes          - - U A U
slurmd-crashes        - - U A U
slurmd-hangs          - - - A U
machine-drained       - - U A U
machine-dark          - - U A U
machine-unplugged     - - U A U
preempted             U U U A U
queue-held            L L U U U
queue-drained         L L L B U
jobset-deleted        - U U A U
workload-deleted      - U U A U
bridge-killed         U U U U U
bridge-restarted      U U U U U
"""

MATRIX: Mapping[str, Mapping[Stage, Outcome]] = {
    name: dict(zip(Stage, (_LETTERS[letter] for letter in letters), strict=True))
    for name, *letters in map(str.split, _TABLE.strip().splitlines())
}
"""By the name of the fault."""

PATIENT: Mapping[str, Outcome] = {
    "pod-deleted": _U,
    "slurmd-crashes": _A,
    "machine-drained": _U,
    "preempted": _U,
    "queue-drained": _U,
    "jobset-deleted": _A,
    "workload-deleted": _U,
}
"""The same of a job that runs where drainOnPreemption is set, and that ends before its pods do."""
