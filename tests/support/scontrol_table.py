"""What becomes of a job of the bridge when somebody uses scontrol on it: by whom, when, and the outcome.

tests/slurm/e2e/test_scontrol.py does every row with the real scontrol; docs/scontrol.md is made from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum


class Stage(StrEnum):
    """Where the job is."""

    WAITING = "waits for quota"
    RUNNING = "runs"


class By(StrEnum):
    """Who does it."""

    OWNER = "its owner"
    OPERATOR = "an operator"


class Outcome(Enum):
    """What people see afterwards."""

    REFUSED = "Slurm refuses it; nothing changes."
    UNSEEN = (
        "Nothing: the job is held already, and Slurm knows one hold only, so it starts all the same when it"
        " is admitted. job_submit.lua refuses it to the owner and says what works; operators use `uhold`."
    )
    HELD_AGAIN = "Held again at the next look: nobody passes Kueue. It starts when it is admitted."
    RESPECTED = (
        "It stays held, and that is said on the job; its quota goes back after 30 s. After `scontrol release`"
        " it queues and runs."
    )
    REPLANNED = "Capacity is asked for anew: the JobSet is replaced by one of the new shape or queue."
    KEPT = "Done; its place in the queue and its capacity stay as they are."
    INELIGIBLE = (
        "Its JobSet goes, and the job says what it waits for; capacity is asked for when that has passed."
    )
    LET_GO = "Its JobSet goes; the job stays held, and says that an operator has to release it."
    PRIORITY = "The Workload gets that priority, up to the cap, and the comment says wm:prio-applied=N."
    UNMET = "Its JobSet goes; the job stays held, and says which option cannot be met."
    GONE = "It is cancelled; nodes, JobSet and quota go back."
    RUNS_ON = "It runs on."
    HOLD_STAYS = (
        "It runs on. When it loses its capacity it stays held, and queues and runs after `scontrol release`."
    )
    SUSPENDED = "Its processes stop; nodes and quota stay its own, and `scontrol resume` lets it go on."
    STARTS_AGAIN = (
        "It starts again on the same nodes as soon as Slurm lets it: after cred_expire (2 minutes unless"
        " configured), at the next look of its scheduler (sched_interval, up to a minute later)."
    )
    FOLLOWED = "The new limit holds, and the deadline of its pods follows."


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row. `command` is what follows scontrol; JOB stands for the job's id, HOG for one that runs."""

    command: str
    by: By
    stage: Stage
    outcome: Outcome


ON_22_05 = {
    "update JobId=JOB NumTasks=2": Outcome.UNMET,  # it stays a job of one CPU, as with --overcommit
    "update JobId=JOB Nice=100": Outcome.HELD_AGAIN,
}
"""Where Slurm 22.05 does something else with a job that waits."""


def _rows(stage: Stage, table: str) -> tuple[Row, ...]:
    lines = (line.split("|") for line in table.strip().splitlines())
    return tuple(
        Row(command=command.strip(), by=By[by.strip().upper()], stage=stage, outcome=Outcome[outcome.strip()])
        for command, by, outcome in lines
    )


ROWS = (
    *_rows(
        Stage.WAITING,
        """
        hold JOB                                      | operator | UNSEEN
        hold JOB                                      | owner    | UNSEEN
        uhold JOB                                     | operator | RESPECTED
        release JOB                                   | operator | HELD_AGAIN
        release JOB                                   | owner    | REFUSED
        requeue JOB                                   | owner    | REFUSED
        requeuehold JOB                               | owner    | REFUSED
        suspend JOB                                   | operator | REFUSED
        resume JOB                                    | operator | REFUSED
        top JOB                                       | owner    | REFUSED
        update JobId=JOB NumNodes=2                   | owner    | REPLANNED
        update JobId=JOB NumTasks=2                   | owner    | REPLANNED
        update JobId=JOB NumCPUs=2                    | owner    | REPLANNED
        update JobId=JOB MinMemoryNode=200            | owner    | REPLANNED
        update JobId=JOB Partition=urgent             | owner    | REPLANNED
        update JobId=JOB Partition=elsewhere          | owner    | LET_GO
        update JobId=JOB Features=gpu                 | owner    | REFUSED
        update JobId=JOB TimeLimit=5                  | owner    | KEPT
        update JobId=JOB TimeLimit=300                | operator | KEPT
        update JobId=JOB Priority=100                 | operator | REFUSED
        update JobId=JOB Nice=100                     | owner    | KEPT
        update JobId=JOB Licenses=matlab:1            | owner    | KEPT
        update JobId=JOB Dependency=afterok:HOG       | owner    | INELIGIBLE
        update JobId=JOB StartTime=now+3600           | owner    | INELIGIBLE
        update JobId=JOB Comment=wm:prio=5000         | owner    | PRIORITY
        scancel JOB                                   | owner    | GONE
        """,
    ),
    *_rows(
        Stage.RUNNING,
        """
        hold JOB                                      | operator | HOLD_STAYS
        hold JOB                                      | owner    | HOLD_STAYS
        release JOB                                   | owner    | RUNS_ON
        requeue JOB                                   | owner    | STARTS_AGAIN
        requeuehold JOB                               | owner    | RESPECTED
        requeuehold JOB                               | operator | RESPECTED
        suspend JOB                                   | operator | SUSPENDED
        suspend JOB                                   | owner    | REFUSED
        top JOB                                       | owner    | REFUSED
        update JobId=JOB NumNodes=2                   | owner    | REFUSED
        update JobId=JOB NumTasks=2                   | owner    | REFUSED
        update JobId=JOB NumCPUs=2                    | owner    | REFUSED
        update JobId=JOB MinMemoryNode=200            | owner    | REFUSED
        update JobId=JOB Partition=urgent             | owner    | REFUSED
        update JobId=JOB Features=gpu                 | owner    | REFUSED
        update JobId=JOB TimeLimit=5                  | owner    | RUNS_ON
        update JobId=JOB TimeLimit=300                | operator | FOLLOWED
        update JobId=JOB Priority=100                 | operator | RUNS_ON
        update JobId=JOB Licenses=matlab:1            | operator | RUNS_ON
        update JobId=JOB Dependency=afterok:HOG       | owner    | REFUSED
        update JobId=JOB StartTime=now+3600           | owner    | REFUSED
        update JobId=JOB Comment=wm:prio=5000         | owner    | PRIORITY
        scancel JOB                                   | owner    | GONE
        """,
    ),
)
