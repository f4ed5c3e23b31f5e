"""Arithmetic of quota, cohorts and quantities."""

from __future__ import annotations

import pytest

from k8s_bridge.sandbox.controllers.kueue.model import ClusterQueue, PodSet, Quota, TopologyRequest
from k8s_bridge.sandbox.controllers.kueue.quota import Ledger
from k8s_bridge.sandbox.controllers.kueue.topology import FreeNode, Topology, assignment, hosts, place
from k8s_bridge.sandbox.controllers.quantity import Amounts, parse, text
from k8s_bridge.sandbox.controllers.scheduler_fit import matches

CPU = ("default", "cpu")


def ledger(**quotas: Quota) -> Ledger:
    found = Ledger()
    for name, quota in quotas.items():
        found.put(ClusterQueue(name=name, cohort="co", quotas={CPU: quota}))
    return found


def test_member_borrows_what_others_leave():
    book = ledger(a=Quota(nominal=4), b=Quota(nominal=6))
    book.add("b", {CPU: 1})

    assert book.available("a", CPU) == 9
    assert book.potential("a", CPU) == 10


def test_borrowing_limit_caps_what_is_borrowed():
    book = ledger(a=Quota(nominal=4, borrowing=2), b=Quota(nominal=6))
    book.add("a", {CPU: 5})

    assert book.available("a", CPU) == 1
    assert book.potential("a", CPU) == 6


def test_lending_limit_keeps_quota_at_home():
    book = ledger(a=Quota(nominal=4), b=Quota(nominal=6, lending=1))

    assert book.available("a", CPU) == 5
    assert book.available("b", CPU) == 10


def test_what_others_borrowed_is_missing_at_home():
    book = ledger(a=Quota(nominal=4), b=Quota(nominal=6))
    book.add("a", {CPU: 9})

    assert book.available("b", CPU) == 1
    assert book.borrowed("a", CPU) == 5


def test_queue_that_changes_its_cohort_takes_its_quota_along():
    book = ledger(a=Quota(nominal=4), b=Quota(nominal=6))
    book.put(ClusterQueue(name="b", cohort="other", quotas={CPU: Quota(nominal=6)}))

    assert book.available("a", CPU) == 4


@pytest.mark.parametrize(
    ("resource", "given", "amount", "canonical"),
    [
        ("cpu", "1500m", 1500, "1500m"),
        ("cpu", "2", 2000, "2"),
        ("cpu", "0.1", 100, "100m"),
        ("memory", "64Mi", 64 << 20, "64Mi"),
        ("memory", "1.5Gi", 3 << 29, "1536Mi"),
        ("memory", "1G", 10**9, "1000000000"),
        ("nvidia.com/gpu", "8", 8, "8"),
        ("memory", "0", 0, "0"),
        ("memory", "1e3", 1000, "1000"),
    ],
)
def test_quantities_are_read_and_written_as_kubernetes_does(resource, given, amount, canonical):
    assert parse(resource, given) == amount
    assert text(resource, amount) == canonical


def test_word_is_no_quantity():
    with pytest.raises(ValueError, match="not a quantity"):
        parse("cpu", "many")


TREE = Topology(name="t", levels=("rack", "kubernetes.io/hostname"))


def node(rack: str, host: str, cpu: int) -> FreeNode:
    return FreeNode(labels={"rack": rack, "kubernetes.io/hostname": host}, free={"cpu": cpu})


def pods(count: int, **request: str) -> PodSet:
    return PodSet(name="w", count=count, unit=Amounts({"cpu": 1000}), topology=TopologyRequest(**request))


NODES = [node("r1", "h1", 2000), node("r1", "h2", 2000), node("r2", "h3", 3000), node("r2", "h4", 4000)]


def test_smallest_rack_that_takes_all_is_chosen():
    placed = place(TREE, NODES, pods(4, required="rack"))

    assert [d[-1] for d, _ in placed.domains] == ["h1", "h2"]


def test_few_hosts_are_filled_within_the_rack():
    placed = place(TREE, NODES, pods(5, required="rack"))

    assert placed.domains == ((("r2", "h3"), 1), (("r2", "h4"), 4))


def test_required_rack_too_small_tells_how_many_fit():
    assert place(TREE, NODES, pods(8, required="rack")).fitting == 7


def test_preferred_rack_too_small_spreads_over_racks():
    placed = place(TREE, NODES, pods(8, preferred="rack"))

    assert placed.fitting == 8
    assert sum(n for _, n in placed.domains) == 8


def test_assignment_names_a_host_for_each_pod():
    placed = place(TREE, NODES, pods(5, required="rack"))

    found = [h["kubernetes.io/hostname"] for h in hosts(assignment(placed))]
    assert found == ["h3", "h4", "h4", "h4", "h4"]


@pytest.mark.parametrize(
    ("operator", "values", "met"),
    [
        ("In", ["a", "b"], True),
        ("NotIn", ["a"], False),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
    ],
)
def test_selector_operators(operator, values, met):
    assert matches([{"key": "k", "operator": operator, "values": values}], {"k": "a"}) is met
