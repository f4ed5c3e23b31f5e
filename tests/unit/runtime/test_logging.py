from __future__ import annotations

import base64
import io
import json
import logging

import pytest
import structlog

from k8s_bridge.core.errors import Retry
from k8s_bridge.runtime.controller import Outcome, Result
from k8s_bridge.runtime.logging import OutcomeLog, SupervisorLog, configure
from k8s_bridge.runtime.redact import REDACTED, Redactor
from k8s_bridge.runtime.settings import LogFormat
from k8s_bridge.runtime.supervisor import Change, Report

TOKEN = "eyJhbGciOiJIUzI1NiJ9." + base64.urlsafe_b64encode(b'{"sun":"slurm"}').decode() + '.s"g\\n+/='


@pytest.fixture(autouse=True)
def _restore_logging():
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture(params=[LogFormat.JSON, LogFormat.CONSOLE])
def form(request):
    return request.param


def setup(form=LogFormat.JSON, level="debug"):
    stream, redactor = io.StringIO(), Redactor()
    redactor.register(TOKEN)
    return configure(level=level, form=form, stream=stream, redactor=redactor), stream


def lines(stream):
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def fail_with_token():
    local = {"X-SLURM-USER-TOKEN": TOKEN}
    raise RuntimeError(f"refused: {local}")


def test_a_registered_token_is_in_no_line_whatever_the_way_it_took(form):
    log, stream = setup(form)
    log.info(TOKEN)
    log.info("headers", headers={"X-SLURM-USER-TOKEN": TOKEN, "list": [TOKEN]}, raw=TOKEN.encode())
    log.info("url", url=f"https://slurm/?t={TOKEN}")
    try:
        fail_with_token()
    except RuntimeError as error:
        log.exception("boom")
        outcome = Outcome(
            controller="a/b", key=1, result=Result.BUG, effect="Apply", text=str(error), error=error
        )
        OutcomeLog(log)(outcome)
        SupervisorLog(log)(Report(name="a/b", change=Change.CRASHED, text=str(error), error=error))
        logging.getLogger("library").exception("from a library: %s", TOKEN)
    text = stream.getvalue()
    assert text.count(REDACTED) >= 8
    for part in (TOKEN, json.dumps(TOKEN)[1:-1], repr(TOKEN)[1:-1], TOKEN.split(".")[1]):
        assert part not in text


def test_a_rotated_token_and_the_old_one_are_both_redacted():
    redactor = Redactor()
    redactor.register("first-token")
    redactor.register("second-token\n")
    assert redactor("first-token second-token") == f"{REDACTED} {REDACTED}"


def test_an_empty_secret_redacts_nothing():
    redactor = Redactor()
    redactor.register("")
    redactor.register("  \n")
    assert redactor("plain text") == "plain text"


def test_a_secret_within_another_leaves_no_rest():
    redactor = Redactor()
    redactor.register("secret")
    redactor.register("secret-and-more")
    assert redactor("secret-and-more") == REDACTED


def outcome(result, **more):
    values = {"controller": "hpc/main", "key": 42, "state": "QUEUED"} | more
    return Outcome(result=result, **values)


def test_one_line_for_each_effect_and_change_of_verdict_with_stable_names():
    log, stream = setup()
    hook = OutcomeLog(log)
    hook(outcome(Result.VERDICT, reason="Waiting", text="third in the queue"))
    hook(outcome(Result.DONE, effect="Apply", seconds=0.12345))
    hook(outcome(Result.RETRY, effect="Apply", text="busy", error=Retry("busy")))
    hook(outcome(Result.GATE, key=None, state="blocked", text="Slurm does not answer"))
    hook(outcome(Result.BUG, effect="decide", text="x", error=ValueError("x")))
    found = lines(stream)
    assert [line["event"] for line in found] == ["verdict", "effect", "effect", "gate", "undecided"]
    assert [line["level"] for line in found] == ["info", "info", "warning", "info", "error"]
    assert found[0] | {"timestamp": ""} == {
        "event": "verdict",
        "level": "info",
        "timestamp": "",
        "workloadmixing": "hpc/main",
        "unit": "42",
        "state": "QUEUED",
        "reason": "Waiting",
        "text": "third in the queue",
    }
    assert (found[1]["effect"], found[1]["result"], found[1]["seconds"]) == ("Apply", "done", 0.1235)
    assert "unit" not in found[3]


def test_the_traceback_of_a_bug_is_written_once():
    log, stream = setup()
    hook = OutcomeLog(log)
    for _ in range(3):
        try:
            fail_with_token()
        except RuntimeError as error:
            hook(outcome(Result.BUG, effect="decide", text="refused", error=error))
    found = lines(stream)
    assert ["exception" in line for line in found] == [True, False, False]
    assert "fail_with_token" in found[0]["exception"]


def test_an_expected_failure_has_no_traceback():
    log, stream = setup()
    OutcomeLog(log)(outcome(Result.RETRY, effect="Apply", text="busy", error=Retry("busy")))
    assert "exception" not in lines(stream)[0]


def test_the_level_holds_for_libraries_too():
    log, stream = setup(level="warning")
    log.info("quiet")
    logging.getLogger("library").info("quiet")
    logging.getLogger("library").warning("loud %s", "enough")
    assert [line["event"] for line in lines(stream)] == ["loud enough"]


def test_columns_for_people_hold_the_fields():
    log, stream = setup(LogFormat.CONSOLE)
    OutcomeLog(log)(outcome(Result.VERDICT, text="third in the queue"))
    text = stream.getvalue()
    assert "verdict" in text
    assert "third in the queue" in text
    assert "\x1b" not in text, "no colours where there is no terminal"
