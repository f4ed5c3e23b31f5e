from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from k8s_bridge.kube.store import Delta, Table


@dataclass(frozen=True)
class Row:
    name: str
    version: int = 0
    tags: tuple[str, ...] = ()


def table(*, versions: bool = False) -> Table[Row]:
    newer = (lambda new, old: new.version > old.version) if versions else None
    return Table(lambda row: row.name, indexes={"tag": lambda row: row.tags}, newer=newer)


def test_a_change_is_a_delta_and_nothing_new_is_none():
    rows = table()
    one, two = Row("a", tags=("x",)), Row("a", tags=("y",))
    assert rows.upsert(one) == Delta("a", None, one)
    assert rows.upsert(Row("a", tags=("x",))) is None
    assert rows.upsert(two) == Delta("a", one, two)
    assert rows.remove("a") == Delta("a", two, None)
    assert rows.remove("a") is None


def test_an_older_row_does_not_win_but_a_listing_does():
    rows = table(versions=True)
    rows.upsert(Row("a", 5))
    assert rows.upsert(Row("a", 4)) is None
    assert rows.upsert(Row("a", 5, ("x",))) is None
    assert rows.get("a") == Row("a", 5)
    assert rows.replace([Row("a", 4)]) == [Delta("a", Row("a", 5), Row("a", 4))]


def test_rows_of_an_index_come_in_the_order_of_their_keys():
    rows = table()
    for name in ("c", "a", "b"):
        rows.upsert(Row(name, tags=("x",)))
    assert [row.name for row in rows.by("tag", "x")] == ["a", "b", "c"]
    assert rows.by("tag", "unknown") == ()
    with pytest.raises(KeyError):
        rows.by("unknown", "x")


def test_a_listing_removes_what_it_does_not_hold_except_what_is_kept():
    rows = table()
    rows.replace([Row("a"), Row("b"), Row("c")])
    deltas = rows.replace([Row("b"), Row("d")], keep=lambda row: row.name == "c")
    assert deltas == [Delta("d", None, Row("d")), Delta("a", Row("a"), None)]
    assert rows.keys() == ("b", "c", "d")


def test_subscribers_see_a_listing_only_as_a_whole():
    rows = table()
    rows.replace([Row("a")])
    sizes = []
    rows.subscribe(lambda _: sizes.append(rows.keys()))
    rows.replace([Row("b"), Row("c")])
    assert sizes == [("b", "c")] * 3


def test_subscribers_hear_of_every_change_and_of_nothing_else():
    rows = table()
    heard: list[Delta[Row]] = []
    rows.subscribe(heard.append)
    rows.upsert(Row("a"))
    rows.upsert(Row("a"))
    rows.remove("b")
    rows.remove("a")
    assert heard == [Delta("a", None, Row("a")), Delta("a", Row("a"), None)]


ROWS = st.builds(
    Row,
    name=st.sampled_from("abcdef"),
    version=st.integers(0, 5),
    tags=st.lists(st.sampled_from("xyz"), max_size=3).map(tuple),
)


class AnyOrder(RuleBasedStateMachine):
    """Whatever is done in whatever order: rows as in a plain dict, indexes as computed from scratch."""

    def __init__(self):
        super().__init__()
        self.table = table(versions=True)
        self.model: dict[str, Row] = {}
        self.mirror: dict[str, Row] = {}
        self.table.subscribe(self._mirror)

    def _mirror(self, delta: Delta[Row]) -> None:
        assert self.mirror.get(delta.key) == delta.old
        assert delta.old != delta.new
        if delta.new is None:
            del self.mirror[delta.key]
        else:
            self.mirror[delta.key] = delta.new

    @rule(row=ROWS)
    def upsert(self, row):
        old = self.model.get(row.name)
        accepted = old is None or row.version > old.version
        assert (self.table.upsert(row) is not None) == accepted
        if accepted:
            self.model[row.name] = row

    @rule(name=st.sampled_from("abcdef"))
    def remove(self, name):
        assert (self.table.remove(name) is not None) == (self.model.pop(name, None) is not None)

    @rule(rows=st.lists(ROWS, unique_by=lambda row: row.name), kept=st.sets(st.sampled_from("abcdef")))
    def replace(self, rows, kept):
        self.table.replace(rows, keep=lambda row: row.name in kept)
        stays = {name: row for name, row in self.model.items() if name in kept}
        self.model = {**stays, **{row.name: row for row in rows}}

    @invariant()
    def rows_are_those_of_the_model_and_of_the_deltas(self):
        assert {row.name: row for row in self.table.values()} == self.model == self.mirror
        assert set(self.table.keys()) == set(self.model)
        assert len(self.table) == len(self.model)
        assert all(self.table.get(name) == row for name, row in self.model.items())

    @invariant()
    def indexes_equal_a_recomputation(self):
        for tag in "xyz":
            expected = [self.model[name] for name in sorted(self.model) if tag in self.model[name].tags]
            assert list(self.table.by("tag", tag)) == expected
        assert set(self.table._buckets["tag"]) == {tag for row in self.model.values() for tag in row.tags}


TestAnyOrder = AnyOrder.TestCase
