from __future__ import annotations

from datetime import UTC, datetime

from api.views import Condition
from k8s_bridge.core.conditions import Finding, merge

OLD = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
READY = Condition(type="Ready", status="True", reason="Ok", last_transition_time=OLD, observed_generation=1)
FOREIGN = Condition(type="example.com/Audited", status="True", reason="Yes", last_transition_time=OLD)


def test_the_same_finding_changes_nothing():
    assert merge([READY], [Finding(type="Ready", status="True", reason="Ok")], now=NOW, generation=1) == (
        READY,
    )


def test_time_moves_with_the_status_and_with_nothing_else():
    reworded = Finding(type="Ready", status="True", reason="Better", message="all of it")
    (condition,) = merge([READY], [reworded], now=NOW, generation=2)
    assert condition.last_transition_time == OLD
    assert (condition.reason, condition.message, condition.observed_generation) == ("Better", "all of it", 2)
    (condition,) = merge([READY], [Finding(type="Ready", status="False", reason="No")], now=NOW, generation=2)
    assert condition.last_transition_time == NOW.replace(microsecond=0), "the API keeps whole seconds"


def test_conditions_of_others_stay_where_and_as_they_are():
    merged = merge(
        [FOREIGN, READY],
        [
            Finding(type="TokenValid", status="True", reason="Fresh"),
            Finding(type="Ready", status="False", reason="No"),
        ],
        now=NOW,
        generation=3,
    )
    assert [condition.type for condition in merged] == ["example.com/Audited", "Ready", "TokenValid"]
    assert merged[0] == FOREIGN


def test_what_was_not_looked_at_stays():
    assert merge([READY], [], now=NOW, generation=9) == (READY,)


def test_a_condition_without_a_time_gets_one():
    bare = Condition(type="Ready", status="True", reason="Ok")
    (condition,) = merge([bare], [Finding(type="Ready", status="True", reason="Ok")], now=NOW, generation=1)
    assert condition.last_transition_time is not None
