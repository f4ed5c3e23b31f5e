"""Log lines: JSON for machines, columns for people, and no secret in either.

One line for each effect and each change of verdict, under event names that do not change. The text is
redacted after it has been rendered, so that neither tracebacks nor nested values can carry a secret out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TextIO

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from k8s_bridge.core.plain import one_line
from k8s_bridge.runtime.controller import K, Outcome, Result
from k8s_bridge.runtime.redact import Redactor
from k8s_bridge.runtime.settings import LogFormat
from k8s_bridge.runtime.supervisor import Change, Report

Logger = FilteringBoundLogger

_QUIET_LIBRARIES = ("httpx", "httpcore", "uvicorn", "uvicorn.error", "uvicorn.access")
_TRACEBACKS_KEPT = 1000


def configure(*, level: str, form: LogFormat, stream: TextIO, redactor: Redactor) -> Logger:
    """Set up logging of the whole process, libraries included, and return the logger to pass around.

    `level` is debug, info, warning or error.
    """
    number = getattr(logging, level.upper())
    shared: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    render = _renderer(form, stream, redactor)
    structlog.configure(
        processors=[*shared, *render],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    _adopt_libraries(shared, render, stream, number)
    logger: Logger = structlog.get_logger()
    return logger


def _renderer(form: LogFormat, stream: TextIO, redactor: Redactor) -> list[Processor]:
    console = form is LogFormat.CONSOLE or (form is LogFormat.AUTO and stream.isatty())

    def redact(_logger: WrappedLogger, _method: str, text: EventDict | str) -> str:
        return redactor(str(text))

    if console:
        columns = structlog.dev.ConsoleRenderer(
            colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
        return [_one_line, columns, redact]
    return [
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(),
        redact,
    ]


def _one_line(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """No text of a user begins a line of its own or is obeyed by the terminal that shows it."""
    return {key: one_line(value) if isinstance(value, str) else value for key, value in event.items()}


def _adopt_libraries(shared: list[Processor], render: list[Processor], stream: TextIO, level: int) -> None:
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(level, logging.INFO), force=True)
    for name in _QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)


_LEVELS = {
    Result.VERDICT: "info",
    Result.GATE: "info",
    Result.DONE: "info",
    Result.STALE: "info",
    Result.FENCED: "info",
    Result.CONFLICT: "info",
    Result.RETRY: "warning",
    Result.TERMINAL: "warning",
    Result.BUG: "error",
}


class OutcomeLog:
    """The hook that writes outcomes down."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger
        self._seen: set[tuple[str, str, int]] = set()

    def __call__(self, outcome: Outcome[K]) -> None:
        """One line: `verdict`, `gate`, `effect` or `undecided`."""
        write: Callable[..., None] = getattr(self._logger, _LEVELS[outcome.result])
        write(_event(outcome), **_fields(outcome), **self._traceback(outcome))

    def _traceback(self, outcome: Outcome[K]) -> dict[str, object]:
        """The traceback of a bug, the first time that it shows; after that the line alone."""
        if outcome.result is not Result.BUG or outcome.error is None:
            return {}
        place = _place(outcome.error)
        if place in self._seen:
            return {}
        if len(self._seen) < _TRACEBACKS_KEPT:
            self._seen.add(place)
        return {"exc_info": outcome.error}


def _event(outcome: Outcome[K]) -> str:
    match outcome.result:
        case Result.VERDICT | Result.GATE:
            return outcome.result.value
        case _:
            return "undecided" if outcome.effect == "decide" else "effect"


def _fields(outcome: Outcome[K]) -> dict[str, object]:
    fields: dict[str, object] = {
        "workloadmixing": outcome.controller,
        "unit": None if outcome.key is None else str(outcome.key),
        "state": outcome.state,
        "reason": outcome.reason,
        "text": outcome.text,
    }
    if _event(outcome) == "effect":
        fields |= {
            "effect": outcome.effect,
            "result": outcome.result.value,
            "seconds": round(outcome.seconds, 4),
        }
    return {name: value for name, value in fields.items() if value not in (None, "")}


def _place(error: BaseException) -> tuple[str, str, int]:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(error).__name__, "", 0
    return type(error).__name__, trace.tb_frame.f_code.co_filename, trace.tb_lineno


class SupervisorLog:
    """The hook that writes down what the supervisor did."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger

    def __call__(self, report: Report) -> None:
        """One line: `bridge_started`, `bridge_reloaded`, `bridge_stopped` or `bridge_crashed`."""
        event = f"bridge_{report.change.value}"
        if report.change is Change.CRASHED:
            self._logger.error(event, workloadmixing=report.name, text=report.text, exc_info=report.error)
        else:
            self._logger.info(event, workloadmixing=report.name)
