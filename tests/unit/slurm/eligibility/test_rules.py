from __future__ import annotations

import inspect
import re

import pytest

from k8s_bridge.slurm.eligibility import (
    REASONS,
    RULES,
    UNASKED,
    Availability,
    Grip,
    Surroundings,
    obstacle,
    rules,
    withholds,
)
from k8s_bridge.slurm.eligibility.licenses import asked
from k8s_bridge.slurm.model import Job, Reservation

NOW = 10_000.0
LATER = int(NOW) + 3600


def found(*, available: Availability = UNASKED, promised: dict[str, int] | None = None, **fields):
    job = Job(**{"job_id": 9, "partition": "all", "states": frozenset({"PENDING"}), **fields})
    return obstacle(job, Surroundings(available=available, promised=promised or {}), now=NOW)


def reserved(**fields) -> Availability:
    times = {"start_time": int(NOW) - 60, "end_time": LATER, "flags": frozenset({"ANY_NODES"})}
    return Availability(licenses={}, reservations={"r": Reservation(name="r", **{**times, **fields})})


def test_a_plain_job_has_none():
    assert found(eligible_time=int(NOW), deadline=LATER, time_limit=10) is None


def test_a_begin_time_is_said_and_when_it_passes_is_known():
    there = found(eligible_time=LATER)
    assert (there.reason, there.until) == ("BeginTime", LATER)
    assert there.text == "is not to start before 1970-01-01T03:46:40Z"


def test_the_delay_after_a_requeue_is_no_begin_time_of_the_user():
    assert found(eligible_time=int(NOW) + 120, restart_count=1) is None
    assert found(eligible_time=int(NOW) + 120, restart_count=0) is not None
    assert found(eligible_time=LATER, restart_count=1) is not None, "its owner changed it meanwhile"


@pytest.mark.parametrize(
    ("fields", "missed"),
    [
        ({"deadline": int(NOW) - 1}, True),
        ({"deadline": int(NOW) + 599, "time_limit": 10}, True),
        ({"deadline": int(NOW) + 600, "time_limit": 10}, False),
        ({"deadline": int(NOW) + 60, "time_limit": 10, "time_minimum": 1}, False),
        ({"deadline": None, "time_limit": 10}, False),
    ],
)
def test_a_deadline_that_cannot_be_kept(fields, missed):
    there = found(**fields)
    assert (there is not None and there.reason == "Deadline") is missed


def test_a_partition_that_starts_nothing():
    states = {"all": frozenset({"DOWN"}), "two": frozenset({"UP"}), "off": frozenset({"INACTIVE"})}
    available = Availability(partitions=states)
    assert found(available=available).text == "partition all is DOWN"
    assert found(available=available, partition="all,off") is not None
    assert found(available=available, partition="all,two") is None
    assert found(available=available, partition="two") is None
    draining = Availability(partitions={"all": frozenset({"DRAIN"})})
    assert found(available=draining) is None, "what is queued still starts"


@pytest.mark.parametrize(
    ("available", "text"),
    [
        (reserved(), None),
        (reserved(flags=frozenset({"PART_NODES"})), None),
        (reserved(start_time=LATER - 60), "reservation r begins 1970-01-01T03:45:40Z"),
        (reserved(end_time=int(NOW)), "reservation r is over or gone; drop it or cancel the job"),
        (
            Availability(licenses={}, reservations={}),
            "reservation r is over or gone; drop it or cancel the job",
        ),
        (
            reserved(flags=frozenset({"SPEC_NODES"})),
            "reservation r holds fixed nodes; only ANY_NODES or PART_NODES takes new ones",
        ),
        (UNASKED, "Slurm is being asked about reservations"),
    ],
)
def test_a_reservation(available, text):
    there = found(available=available, reservation="r")
    assert (there and there.text) == text


def test_licenses_that_are_in_use_or_promised_keep_from_asking_only():
    available = Availability(licenses={"m": 2, "f": 5}, reservations={})
    assert found(available=available, licenses="m:2,f:5") is None
    there = found(available=available, licenses="m:2,f:6", promised={"m": 1})
    assert there.text == "waits for licenses m:2 (1 free), f:6 (5 free)"
    assert there.grip is Grip.LOOSE
    assert found(available=available, licenses="elsewhere:3") is None, "Slurm knows better"
    assert found(licenses="m:1").reason == "AskingSlurm", "nothing is assumed to be free"


def test_how_licenses_are_asked_for():
    assert asked("m:2,f") == {"m": 2, "f": 1}
    assert asked("m@server:3") == {"m@server": 3}
    assert asked("a:1|b:1") == {}
    assert asked("") == {}


@pytest.mark.parametrize(
    ("reason", "withheld"),
    [
        ("AssocGrpCpuLimit", True),
        ("QOSMaxJobsPerUserLimit", True),
        ("MaxJobsPerAccount", True),
        ("InvalidQOS", True),
        ("Licenses", True),
        ("Reservation", True),
        ("PartitionDown", True),
        ("PartitionNodeLimit", True),
        ("Dependency", True),
        ("Resources", False),
        ("Priority", False),
        ("None", False),
        ("PartitionConfig", False),
        ("BadConstraints", False),
    ],
)
def test_reasons_that_capacity_cannot_cure(reason, withheld):
    assert withholds(Job(job_id=1, reason=reason), now=NOW) is withheld


@pytest.mark.parametrize("restarts", [0, 1])
def test_a_begin_time_withholds_until_it_has_come_however_long_slurm_shows_it(restarts):
    def begins(seconds):
        return Job(job_id=1, reason="BeginTime", restart_count=restarts, eligible_time=int(NOW) + seconds)

    assert withholds(begins(3600), now=NOW)
    assert not withholds(begins(0), now=NOW)
    assert not withholds(begins(-30), now=NOW)


def test_slurms_own_delay_of_a_requeued_job_is_waited_out():
    again = Job(job_id=1, reason="BeginTime", restart_count=1, eligible_time=int(NOW) + 100)
    assert not withholds(again, now=NOW)


def test_every_rule_says_what_it_is_about():
    assert all(rule.__doc__ for rule in RULES)


def test_every_word_of_an_obstacle_is_known():
    """A hold is told from ours by the word of the text that a job carries."""
    source = inspect.getsource(rules)
    written = set(re.findall(r'reason="(\w+)"', source)) | set(re.findall(r'"(Dep\w+)"', source))
    assert written <= REASONS
