"""An answer that its reader cannot read is kept as its bytes, whatever fails, and the call goes on."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from onrecord.adapters.wire.answer import Answer, Conclusion, Loss
from onrecord.adapters.wire.api import AnswerStream, Wire
from onrecord.adapters.wire.blob_bytes import Scratch
from onrecord.adapters.wire.bodies.attempt import Attempt
from onrecord.adapters.wire.bodies.credentials import Credentials
from onrecord.adapters.wire.openai_chat.stream import CompletionStream
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.events import AttemptFailed, ResponseInterrupted
from tests.adapters.wire.attempts import JSON, STREAM, Closed, digest

WIRE = WIRES["openai-chat"]
BODY = b'{"id": "c1", "choices": [{"index": 0, "message": {"content": "Hi."}, "finish_reason": "stop"}]}'
LINES = b'data: {"id": "c1", "choices": [], "said": "password: hunter2222"}\n\ndata: [DONE]\n\n'


class Reading:
    """The reader of a stream, which a test makes fail."""

    def __init__(self) -> None:
        self._inner = CompletionStream()

    def feed(self, chunk: bytes) -> bool:
        return self._inner.feed(chunk)

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        return self._inner.finish(loss, detail)


class NeverMade(Reading):
    def __init__(self) -> None:
        raise ZeroDivisionError


class FailsOnce(Reading):
    """Loses a chunk: what it says in the end looks whole."""

    _has_failed = False

    def feed(self, chunk: bytes) -> bool:
        if not self._has_failed:
            self._has_failed = True
            raise ZeroDivisionError
        return super().feed(chunk)


class NeverFinished(Reading):
    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        raise ZeroDivisionError


class NoEnding(Reading):
    @property
    def endings(self) -> int:
        raise ZeroDivisionError


def streamed(reader: Callable[[], AnswerStream]) -> Wire:
    return replace(WIRE, streams={"text/event-stream": reader})


def no_event(_: object) -> Any:
    return None


def no_form(body: bytes, loss: Loss, detail: str | None) -> Answer:
    return replace(WIRE.read_body(body, loss, detail), envelope={"made": object()})


def no_answer(body: bytes, loss: Loss, detail: str | None) -> Any:
    return None


@pytest.mark.parametrize(
    ("wire", "headers", "body"),
    [
        (streamed(NeverMade), STREAM, LINES),
        (streamed(FailsOnce), STREAM, LINES),
        (streamed(NeverFinished), STREAM, LINES),
        (streamed(NoEnding), STREAM, LINES),
        (replace(WIRE, api="toy", event_of=no_event), JSON, BODY),
        (replace(WIRE, api="toy", read_body=no_form), JSON, BODY),
        (replace(WIRE, read_body=no_answer), JSON, BODY),
    ],
)
def test_an_answer_whose_reader_fails_is_kept_as_its_bytes(
    tmp_path: Path, wire: Wire, headers: Mapping[str, str], body: bytes
) -> None:
    closed = Closed()
    attempt = attempted(wire, closed.close, tmp_path)
    attempt.answered(200, headers)
    for start in range(0, len(body), 20):
        attempt.feed(body[start : start + 20])
        assert attempt.endings >= 0
    assert headers is JSON or attempt.endings == 0
    attempt.finish()
    (closing,) = closed.events
    assert isinstance(closing, ResponseInterrupted)
    assert (closing.reason, closing.detail) == ("malformed", "the recorder could not read it")
    assert closed.raw == body


def attempted(wire: Wire, close: Callable[[Conclusion, bool], None], folder: Path) -> Attempt:
    secret = Credentials((), digest)
    return Attempt(
        wire, UUID(int=1), None, lambda: secret, close, Scratch(folder, is_encrypted=False)
    )


def test_what_fails_in_storing_an_answer_does_not_come_out_of_the_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def close(recording: Conclusion, failed: bool) -> None:
        raise ZeroDivisionError

    answered = attempted(WIRE, close, tmp_path)
    answered.answered(200, JSON)
    answered.feed(BODY)
    answered.finish()
    attempted(WIRE, close, tmp_path).fail(ConnectionError())
    assert [record.levelname for record in caplog.records] == ["CRITICAL", "CRITICAL"]


def test_an_error_of_a_service_is_recorded_whatever_reads_its_answers(tmp_path: Path) -> None:
    closed = Closed()
    attempt = attempted(streamed(NeverMade), closed.close, tmp_path)
    attempt.answered(500, STREAM)
    attempt.feed(b'{"error": {"type": "overloaded"}}')
    attempt.finish()
    (failed,) = closed.events
    assert isinstance(failed, AttemptFailed)
