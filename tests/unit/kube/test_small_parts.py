from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.views import Machine, ObjectMeta, Pod, Workload
from k8s_bridge.core.effects import ObjectRef
from k8s_bridge.core.errors import Terminal
from k8s_bridge.kube import paths
from k8s_bridge.kube.backoff import Backoff
from k8s_bridge.kube.lines import LineSplitter
from k8s_bridge.kube.versions import newer_version, table_of

PIECES = st.lists(st.sampled_from([b"\n", b"a", b"\r", b"\x85", "ä\u2028".encode(), b"bcd\nef"]))


@given(pieces=PIECES, sizes=st.lists(st.integers(1, 9), min_size=1))
def test_lines_do_not_depend_on_where_chunks_end(pieces, sizes):
    data = b"".join(pieces)
    splitter = LineSplitter(cap=10_000)
    lines, start, turn = [], 0, 0
    while start < len(data):
        size = sizes[turn % len(sizes)]
        lines += splitter.feed(data[start : start + size])
        start, turn = start + size, turn + 1
    lines += splitter.feed(b"\n")
    assert lines == [part for part in data.split(b"\n") if part]


def test_an_endless_line_is_refused():
    splitter = LineSplitter(cap=10)
    splitter.feed(b"12345\n678901234")
    with pytest.raises(Terminal):
        splitter.feed(b"56")


@pytest.mark.parametrize(
    ("candidate", "current", "expected"),
    [
        ("10", "9", True),
        ("9", "10", False),
        ("9", "9", False),
        ("", "9", True),
        ("a", "9", True),
        ("", "", False),
    ],
)
def test_versions_are_numbers_where_they_can_be(candidate, current, expected):
    assert newer_version(candidate, current) is expected


def test_a_table_of_views_keeps_the_newest():
    pods = table_of(Pod, indexes={"node": lambda pod: (pod.spec.node_name,)})
    pods.upsert(Pod(metadata=ObjectMeta(name="a", namespace="ns", resource_version="10")))
    assert pods.upsert(Pod(metadata=ObjectMeta(name="a", namespace="ns", resource_version="9"))) is None
    assert [row.key for row in pods.by("node", "")] == ["ns/a"]


def test_paths():
    ref = ObjectRef(api_version="batch/v1", kind="Job", plural="jobs", namespace="n", name="a b/../c")
    assert paths.of_view(Pod) == "/api/v1/pods"
    assert paths.of_view(Machine, name="n1") == "/api/v1/nodes/n1"
    assert paths.of_view(Workload, namespace="n") == "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"
    assert paths.of_collection(ref) == "/apis/batch/v1/namespaces/n/jobs"
    assert paths.of_ref(ref, subresource="status") == "/apis/batch/v1/namespaces/n/jobs/a%20b%2F..%2Fc/status"
    assert paths.of_view(Pod, namespace="..", name="x") != "/api/v1/pods/x"


def test_backoff_doubles_to_five_seconds_and_starts_over():
    backoff = Backoff(rand=lambda: 0.0)
    assert [backoff.next() for _ in range(7)] == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert backoff.next(at_least=30) == 30
    backoff.reset()
    assert backoff.next() == 0.2


def test_jitter_cuts_a_delay_by_at_most_half():
    assert Backoff(rand=lambda: 0.5).next() == pytest.approx(0.15)
    assert Backoff(rand=lambda: 1.0).next() == pytest.approx(0.1)
