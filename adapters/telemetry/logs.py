"""What a server logs: lines of JSON or of text, without content and without keys.

A message is shown by its first line, an error by its type and its places: what follows may quote what was
said. Of an address neither the key in its path nor its query is shown.
"""

from __future__ import annotations

import json
import logging
import re
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Literal, TypeAlias

from onrecord.adapters.telemetry.tracing import current_trace

LogFormat: TypeAlias = Literal["text", "json"]
"""How lines are written: for people, or for programs."""

_ACCESS: Final = "uvicorn.access"
_KEY: Final = re.compile(r"\bork_[\w%~.-]*")
_PROXIED: Final = re.compile(r"(/proxy/)[^/?\s]+")
_QUERY: Final = re.compile(r"(/[^\s?\"]*)\?[^\s\"]*")
_MASK: Final = "***"
_LONGEST: Final = 2000
"""How many characters of a message are shown."""

_PLACES: Final = 20
"""How many places of an error are shown, the innermost."""

_GIVEN: Final = ("conversation", "version")
"""What a record may say of where it belongs, as `extra=`."""


def masked(text: str) -> str:
    """Return a text without keys: neither ours, nor what stands in the paths and queries of addresses."""
    text = _QUERY.sub(rf"\1?{_MASK}", _PROXIED.sub(rf"\1{_MASK}", text))
    return _KEY.sub(f"ork_{_MASK}", text)


class Masking(logging.Filter):
    """Takes keys, and what errors quote, out of each record before it is written."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let a record pass, without what is not to be shown."""
        record.msg = _plain(record.msg)
        if isinstance(record.args, tuple):
            record.args = tuple(map(_plain, record.args))
        return True


def _plain(value: Any) -> Any:
    """Return a part of a message without keys; an error is its type, for its text may quote."""
    if isinstance(value, BaseException):
        return type(value).__name__
    return masked(value) if isinstance(value, str) else value


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _message_of(record),
        }
        if record.name == _ACCESS:
            line |= _access_of(record)
        line |= {name: vars(record)[name] for name in _GIVEN if name in vars(record)}
        trace = current_trace()
        if trace is not None:
            line |= {"trace_id": trace.trace_id.hex, "span_id": trace.span}
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = error_of(record.exc_info[1])
        return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """Writes a record as one line for people."""

    def __init__(self) -> None:
        """Begin each line with the time and the level."""
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        record.message, record.asctime = _message_of(record), self.formatTime(record)
        line = self.formatMessage(record)
        if record.exc_info and record.exc_info[1] is not None:
            error = error_of(record.exc_info[1])
            return " ".join((line, error["type"], *error["at"][-1:]))
        return line


def error_of(error: BaseException) -> dict[str, Any]:
    """Return what is shown of an error: its type, where it was raised, and what caused it.

    For example `{"type": "ValueError", "at": ["/app/shop/orders:12 in get"], "cause": "KeyError"}`.
    """
    shown = {"type": _type_of(error), "at": _places_of(error.__traceback__)}
    cause = error.__cause__ or error.__context__
    return shown if cause is None else {**shown, "cause": _type_of(cause)}


def log_config(log_format: LogFormat) -> dict[str, Any]:
    """Return the configuration of a server's logs, as `logging.config.dictConfig` takes it.

    All go to standard error, none of them twice: what Onrecord, asyncio, aiohttp and the SDK of MCP
    say, the faults that uvicorn has, and a line for each request where these are asked for.
    """
    formatter = JsonFormatter if log_format == "json" else TextFormatter
    handler = {
        "class": "logging.StreamHandler",
        "formatter": "line",
        "filters": ["masking"],
        "stream": "ext://sys.stderr",
    }
    loggers = {
        name: {"handlers": ["lines"], "level": level, "propagate": False}
        for name, level in (
            *(("onrecord", "INFO"), (_ACCESS, "INFO")),
            *(("uvicorn", "WARNING"), ("asyncio", "WARNING"), ("aiohttp", "WARNING")),
            ("mcp", "WARNING"),
        )
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": formatter}},
        "filters": {"masking": {"()": Masking}},
        "handlers": {"lines": handler},
        "loggers": loggers,
    }


def _message_of(record: logging.LogRecord) -> str:
    """Return the first line of a message: asyncio's others show objects, with all that is in them."""
    return record.getMessage().partition("\n")[0][:_LONGEST]


def _access_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the parts of a line about a request, as uvicorn gives them."""
    match record.args:
        case (str(client), str(method), str(path), _, int(status)):
            return {"client": client, "method": method, "path": path, "status": status}
        case _:
            return {}


def _type_of(error: BaseException) -> str:
    kind = type(error)
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


def _places_of(trace: TracebackType | None) -> list[str]:
    frames = traceback.StackSummary.extract(
        traceback.walk_tb(trace), limit=-_PLACES, lookup_lines=False
    )
    return [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
