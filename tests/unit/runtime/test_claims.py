"""Of two WorkloadMixings that claim one partition of one cluster, the older serves it."""

from __future__ import annotations

from datetime import UTC, datetime

from k8s_bridge.runtime.claims import Claim, Claims

OLD, NEW = datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)


def claim(
    *partitions: str, created: datetime | None = OLD, cluster: str = "c", namespace: str = "n"
) -> Claim:
    return Claim(cluster=cluster, namespace=namespace, partitions=frozenset(partitions), created=created)


class Told(list[str]):
    """Who was told that something changed."""

    def make(self, claims: Claims, name: str, made: Claim) -> None:
        claims.make(name, made, on_change=lambda: self.append(name))


def test_the_older_one_serves_a_shared_partition_whoever_comes_first():
    claims, told = Claims(), Told()
    told.make(claims, "n/young", claim("a", "b", created=NEW))
    told.make(claims, "n/old", claim("b", "c"))
    assert claims.elsewhere("n/young") == {"b": "n/old", "c": "n/old"}
    assert claims.elsewhere("n/old") == {"a": "n/young"}
    assert told == ["n/young"]


def test_of_two_made_in_one_second_the_name_decides_and_one_from_a_file_goes_first():
    claims, told = Claims(), Told()
    told.make(claims, "n/b", claim("p"))
    told.make(claims, "n/a", claim("p"))
    assert claims.elsewhere("n/b") == {"p": "n/a"}
    told.make(claims, "n/file", claim("p", created=None))
    assert claims.elsewhere("n/a") == {"p": "n/file"}


def test_another_cluster_is_no_rival():
    claims, told = Claims(), Told()
    told.make(claims, "n/a", claim("p"))
    told.make(claims, "n/b", claim("p", cluster="d"))
    assert claims.elsewhere("n/a") == claims.elsewhere("n/b") == {}
    assert claims.clusters("n") == {"c", "d"}
    assert claims.clusters("elsewhere") == set()


def test_a_claim_outlives_its_bridge_but_not_its_mixing():
    claims, told = Claims(), Told()
    told.make(claims, "n/old", claim("p"))
    told.make(claims, "n/young", claim("p", created=NEW))
    claims.leave("n/old")
    assert claims.elsewhere("n/young") == {"p": "n/old"}
    told.clear()
    claims.keep({"n/young"})
    assert claims.elsewhere("n/young") == {}
    assert told == ["n/young"]


def test_the_same_claim_again_tells_nobody():
    claims, told = Claims(), Told()
    told.make(claims, "n/a", claim("p"))
    told.make(claims, "n/b", claim("p", created=NEW))
    told.clear()
    told.make(claims, "n/a", claim("p"))
    assert told == []


def test_who_is_not_known_yet_has_lost_nothing():
    assert Claims().elsewhere("n/a") == {}
