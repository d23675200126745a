"""What a server logs: one line a record, that says where, and quotes neither content nor keys."""

import asyncio
import json
import logging
import logging.config
from typing import Any, get_args

import pytest
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags
from pydantic import BaseModel

from onrecord.adapters.telemetry.logs import (
    JsonFormatter,
    LogFormat,
    Masking,
    TextFormatter,
    log_config,
    masked,
)

KEY = "ork_01JZ8Q4M_s3cr3t-0123456789_abcdef"
ACCESS = '%s - "%s %s HTTP/%s" %d'


class Asked(BaseModel):
    """What a request may bring that is refused."""

    version: int


def record(
    message: str, *args: Any, name: str = "onrecord", error: BaseException | None = None
) -> logging.LogRecord:
    info = None if error is None else (type(error), error, error.__traceback__)
    made = logging.LogRecord(name, logging.WARNING, __file__, 1, message, args, info)
    assert Masking().filter(made)
    return made


def lines(made: logging.LogRecord) -> tuple[str, str]:
    return JsonFormatter().format(made), TextFormatter().format(made)


def told(made: logging.LogRecord) -> dict[str, Any]:
    line = JsonFormatter().format(made)
    assert "\n" not in line
    read: dict[str, Any] = json.loads(line)
    return read


def refused(value: str) -> BaseException:
    try:
        Asked.model_validate({"version": value})
    except ValueError as exc:
        return exc
    raise AssertionError("it was taken")


def test_a_line_says_when_how_bad_who_and_what() -> None:
    made = record("a response could not be recorded (%s)", "StorageFull")
    made.created = 1_790_000_000.25
    assert told(made) == {
        "time": "2026-09-21T14:13:20.250+00:00",
        "level": "WARNING",
        "logger": "onrecord",
        "message": "a response could not be recorded (StorageFull)",
    }


def test_a_line_says_of_which_conversation_and_version_it_is_where_that_is_given() -> None:
    made = record("it waits")
    vars(made).update(conversation="support/4711", version=12, other="x")
    line = told(made)
    assert (line["conversation"], line["version"]) == ("support/4711", 12)
    assert "other" not in line


def test_a_line_says_the_trace_and_the_span_that_it_is_written_in() -> None:
    here = SpanContext(0xABC, 0xDEF, is_remote=False, trace_flags=TraceFlags(1))
    with trace.use_span(NonRecordingSpan(here)):
        line = told(record("it waits"))
    assert (line["trace_id"], line["span_id"]) == (f"{0xABC:032x}", f"{0xDEF:016x}")
    assert "trace_id" not in told(record("it waits"))


def test_an_error_is_told_by_its_type_and_its_place_not_by_what_it_quotes() -> None:
    try:
        raise LookupError("canary-outer") from refused("canary-inner")
    except LookupError as exc:
        made = record("it failed", error=exc)
    error = told(made)["error"]
    assert (error["type"], error["cause"]) == (
        "LookupError",
        "pydantic_core._pydantic_core.ValidationError",
    )
    assert "test_logs.py:" in error["at"][-1]
    assert all("canary" not in line for line in lines(made))


def test_an_error_in_a_message_is_its_type() -> None:
    made = record("an erasure cannot be read: %s", refused("canary"))
    assert told(made)["message"] == "an erasure cannot be read: ValidationError"
    assert all("canary" not in line for line in lines(made))
    alone = record("")
    alone.msg = refused("canary")  # As uvicorn logs an OSError.
    assert Masking().filter(alone)
    assert all("canary" not in line for line in lines(alone))


def test_of_what_asyncio_shows_only_the_first_line_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fails() -> None:
        asyncio.get_running_loop().call_exception_handler(
            {"message": "Task exception was never retrieved", "exception": ValueError("canary")}
        )

    asyncio.run(fails())
    (made,) = [each for each in caplog.records if each.name == "asyncio"]
    assert Masking().filter(made)
    assert told(made)["message"] == "Task exception was never retrieved"
    assert all("canary" not in line for line in lines(made))


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (f"/proxy/{KEY}/anthropic/v1/messages", "/proxy/***/anthropic/v1/messages"),
        ("/proxy/not-a-key/openai/v1/responses", "/proxy/***/openai/v1/responses"),
        (f"/proxy/{KEY}", "/proxy/***"),
        (
            f"/proxy/{KEY}/gemini/v1/models/m:x?key=AIza-canary&alt=sse",
            "/proxy/***/gemini/v1/models/m:x?***",
        ),
        ("/v1/search?q=canary", "/v1/search?***"),
        (f"/v1/{KEY}", "/v1/ork_***"),
        ("/v1/conversations/support%2F4711", "/v1/conversations/support%2F4711"),
    ],
)
def test_no_key_and_no_query_stands_in_a_line_about_a_request(path: str, shown: str) -> None:
    made = record(ACCESS, "127.0.0.1:5", "POST", path, "1.1", 200, name="uvicorn.access")
    line = told(made)
    assert line["message"] == f'127.0.0.1:5 - "POST {shown} HTTP/1.1" 200'
    assert (line["client"], line["method"], line["path"], line["status"]) == (
        "127.0.0.1:5",
        "POST",
        shown,
        200,
    )
    assert shown in TextFormatter().format(made)


@pytest.mark.parametrize(
    "text", [KEY, f"Bearer {KEY}", f"({KEY})", f'"{KEY}"', f"{KEY}\n", f"https://x/?a={KEY}"]
)
def test_a_key_is_masked_wherever_it_stands(text: str) -> None:
    assert "s3cr3t" not in masked(text)
    assert "abcdef" not in masked(text)


@pytest.mark.parametrize("log_format", get_args(LogFormat))
def test_a_server_writes_each_line_once_and_masked(
    log_format: LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    loggers = [logging.getLogger(name) for name in log_config(log_format)["loggers"]]
    before = [(each, each.handlers[:], each.level, each.propagate) for each in loggers]
    logging.config.dictConfig(log_config(log_format))
    try:
        path = f"/proxy/{KEY}/openai/v1/responses?key=canary"
        logging.getLogger("uvicorn.access").info(ACCESS, "::1", "POST", path, "1.1", 200)
        logging.getLogger("uvicorn.error").error("a key: %s", KEY, exc_info=refused("canary"))
        logging.getLogger("onrecord").warning("it waits")
    finally:
        for each, handlers, level, propagate in before:
            each.handlers, each.propagate = handlers, propagate
            each.setLevel(level)
    written = capsys.readouterr().err.splitlines()
    assert len(written) == 3
    assert all("canary" not in line and "s3cr3t" not in line for line in written)
    if log_format == "json":
        assert [json.loads(line)["level"] for line in written] == ["INFO", "ERROR", "WARNING"]
