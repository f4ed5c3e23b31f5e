"""Tens of thousands of records are kept: what they all say is kept once."""

from __future__ import annotations

import msgspec

from k8s_bridge.slurm.client.wire_job import WireJob, job_of

RAW = b"""{"job_id": 1, "job_state": ["PENDING"], "user_name": "ada", "account": "physics",
    "partition": "batch", "qos": "normal", "state_reason": "JobHeldAdmin",
    "tres_req_str": "cpu=1,mem=100M,node=1,billing=1"}"""
SHARED = ("user_name", "account", "partition", "qos", "reason", "tres_request")


def test_records_that_say_the_same_share_it():
    one, other = (job_of(msgspec.json.decode(RAW, type=WireJob), exclusive_known=True) for _ in range(2))
    assert [getattr(one, name) for name in SHARED] == [
        "ada",
        "physics",
        "batch",
        "normal",
        "JobHeldAdmin",
        "cpu=1,mem=100M,node=1,billing=1",
    ]
    assert all(getattr(one, name) is getattr(other, name) for name in SHARED)
