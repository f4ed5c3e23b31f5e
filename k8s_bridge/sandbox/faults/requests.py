"""Faults of requests: what the API server and slurmrestd answer on bad days."""

from __future__ import annotations

from k8s_bridge.sandbox.apiserver.faults import (
    Answer,
    CutWatch,
    Delay,
    Drop,
    HalfOpen,
    LoseAnswer,
    Rule,
    Trickle,
    WatchEnd,
)
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS
from k8s_bridge.sandbox.faults.model import Fault, Side
from k8s_bridge.sandbox.slurm_fake import Fault as Rest
from k8s_bridge.sandbox.slurm_fake import FaultRule

_WRITES = ("create", "patch", "delete")
_NO_ENDPOINTS = (
    'Internal error occurred: failed calling webhook "mjobset.kb.io": failed to call webhook:'
    ' no endpoints available for service "kueue-webhook-service"'
)
_DENIED = 'admission webhook "policy.example.com" denied the request: not now'

KUBE = (
    Fault(
        name="api-conflicts",
        side=Side.KUBE,
        text="Two of five writes are answered 409 Conflict.",
        kube=tuple(Rule(fault=Answer(code=409, reason="Conflict"), verb=v, probability=0.4) for v in _WRITES),
    ),
    Fault(
        name="api-errors",
        side=Side.KUBE,
        text="Every other request is answered 500 or 503.",
        kube=(
            Rule(fault=Answer(code=500), probability=0.3),
            Rule(fault=Answer(code=503, reason="ServiceUnavailable"), probability=0.3),
        ),
    ),
    Fault(
        name="api-throttled",
        side=Side.KUBE,
        text="Every other request is answered 429 with Retry-After.",
        kube=(
            Rule(fault=Answer(code=429, reason="TooManyRequests", retry_after=1), verb="", probability=0.5),
        ),
    ),
    Fault(
        name="api-down",
        side=Side.KUBE,
        text="Every request finds a broken connection; watches that are open live on.",
        kube=(Rule(fault=Drop()),),
    ),
    Fault(
        name="api-slow",
        side=Side.KUBE,
        text="Answers come 1.5 s late.",
        kube=(Rule(fault=Delay(seconds=1.5)),),
    ),
    Fault(
        name="api-trickle",
        side=Side.KUBE,
        text="Lists come in pieces, a quarter of a second apart.",
        kube=(Rule(fault=Trickle(seconds=0.25), verb="list"),),
    ),
    Fault(
        name="api-half-open",
        side=Side.KUBE,
        text="One request in five, and every watch after two events, is never answered any more.",
        kube=(
            Rule(fault=HalfOpen(after=2), verb="watch"),
            *(Rule(fault=HalfOpen(), verb=verb, probability=0.2) for verb in ("list", *_WRITES)),
        ),
    ),
    Fault(
        name="api-lost-answers",
        side=Side.KUBE,
        text="Half of the writes are done, and the connection breaks instead of an answer.",
        kube=tuple(Rule(fault=LoseAnswer(), verb=verb, probability=0.5) for verb in _WRITES),
    ),
    Fault(
        name="watches-cut",
        side=Side.KUBE,
        text="Watches break after two events.",
        kube=(Rule(fault=CutWatch(after=2), verb="watch"),),
    ),
    Fault(
        name="watches-ended",
        side=Side.KUBE,
        text="Watches end after one event, as servers end them.",
        kube=(Rule(fault=CutWatch(after=1, how=WatchEnd.CLEAN), verb="watch"),),
    ),
    Fault(
        name="watches-gone",
        side=Side.KUBE,
        text="Watches end after one event with 410 Gone.",
        kube=(Rule(fault=CutWatch(after=1, how=WatchEnd.GONE), verb="watch"),),
    ),
    Fault(
        name="webhook-down",
        side=Side.KUBE,
        text="Kueue's webhook does not answer: no JobSet can be made.",
        kube=(Rule(fault=Answer(code=500, message=_NO_ENDPOINTS), verb="create", kind=JOBSETS),),
    ),
    Fault(
        name="webhook-refuses",
        side=Side.KUBE,
        text="A policy of the cluster refuses every JobSet with 403.",
        kube=(
            Rule(fault=Answer(code=403, reason="Forbidden", message=_DENIED), verb="create", kind=JOBSETS),
        ),
    ),
)

REST = (
    Fault(
        name="rest-errors",
        side=Side.REST,
        text="Three of ten requests are answered 503.",
        slurm=(FaultRule(fault=Rest.STATUS, status=503, probability=0.3),),
    ),
    Fault(
        name="rest-down",
        side=Side.REST,
        text="Every connection breaks.",
        slurm=(FaultRule(fault=Rest.RESET),),
    ),
    Fault(
        name="rest-timeouts",
        side=Side.REST,
        text="Every third request is not answered within slurmRequestTimeout.",
        slurm=(FaultRule(fault=Rest.HANG, seconds=6.0, probability=0.3),),
    ),
    Fault(
        name="rest-slow",
        side=Side.REST,
        text="Answers come 1.5 s late.",
        slurm=(FaultRule(fault=Rest.SLOW, seconds=1.5),),
    ),
    Fault(
        name="rest-lost-answers",
        side=Side.REST,
        text="Half of the writes are done, and the connection breaks instead of an answer.",
        slurm=(FaultRule(fault=Rest.LOST_ANSWER, match="POST|DELETE", probability=0.5),),
    ),
    Fault(
        name="rest-empty-lists",
        side=Side.REST,
        text="Every listing says that there is nothing.",
        slurm=(FaultRule(fault=Rest.EMPTY_LIST, match="GET"),),
    ),
    Fault(
        name="rest-malformed-items",
        side=Side.REST,
        text="One item of each listing is of a wrong shape.",
        slurm=(FaultRule(fault=Rest.MALFORMED_ITEM, match="GET"),),
    ),
    Fault(
        name="rest-stale",
        side=Side.REST,
        text="Every other listing has a last_update of 5 s ago.",
        slurm=(FaultRule(fault=Rest.STALE, match="GET", seconds=5, probability=0.5),),
    ),
    Fault(
        name="rest-not-json",
        side=Side.REST,
        text="Three of ten answers are a proxy's HTML page with status 200.",
        slurm=(FaultRule(fault=Rest.NOT_JSON, probability=0.3),),
    ),
)
