"""Answers longer than is held: on disk as they pass, and recorded as short ones are."""

import asyncio
import gzip
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onrecord.adapters.demo.services.scenes import Answer
from onrecord.adapters.recording.spool import RecordingWarning, Spool
from onrecord.adapters.recording.unstored import PendingAppend
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.wire.answer import Answer as AnswerRead
from onrecord.adapters.wire.answer import events_of, is_oversized
from onrecord.adapters.wire.blob_bytes import FileBytes, Scratch, filed
from onrecord.adapters.wire.bodies.answer_body import Limits, RawBytes
from onrecord.adapters.wire.bodies.attempt import Attempt
from onrecord.adapters.wire.bodies.credentials import Credentials
from onrecord.adapters.wire.clients import exchange_recorder
from onrecord.adapters.wire.clients.recorded_async import AsyncRecordedBody
from onrecord.adapters.wire.eventstream import FRAMES
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.events import Event, ResponseCompleted, ResponseInterrupted
from tests import bedrock_wire
from tests.adapters.recorded_calls import KEY, Recorded, calling
from tests.adapters.wire.attempts import CLOSING, JSON, STREAM, Closed, attempted, digest
from tests.adapters.wire.large_answers import ANSWERS
from tests.adapters.wire.spooled_events import FULL, begin, unstored
from tests.anthropic_wire import chunks
from tests.factories import attachment, drafted

SECRET = "sk-canary-0123456789"
SIZES = st.lists(st.integers(1, 40_000), min_size=1, max_size=5)
OF_OPENAI = "openai-chat"
APIS = {"anthropic": "anthropic-messages", "chat": OF_OPENAI, "responses": "openai-responses"}


def answer(kind: str) -> bytes:
    return b"".join(ANSWERS[kind](1))


def without_end(kind: str) -> bytes:
    return answer(kind)[:-9]


def quoting(kind: str) -> bytes:
    """An answer that breaks off, and repeats the key that its request went out with."""
    head, _, tail = answer(kind).partition(b"goes on")
    return head + b"goes %s on" % SECRET.encode() + tail[:-30]


def told(closed: Closed) -> tuple[list[Event], bytes | None]:
    """What was recorded, but for the ids that are new each time."""
    same = [
        event.model_copy(update={"response": UUID(int=0)})
        if isinstance(event, CLOSING) or hasattr(event, "response")
        else event
        for event in closed.events
    ]
    return same, closed.raw


@pytest.mark.parametrize("damage", [answer, without_end, quoting])
@pytest.mark.parametrize(
    "kind", ["anthropic-deltas", "anthropic-block", "chat-deltas", "chat-body", "responses-deltas"]
)
@settings(max_examples=3, deadline=None)
@given(sizes=SIZES, is_packed=st.booleans())
def test_what_goes_through_a_file_is_recorded_as_what_is_held(
    kind: str, is_packed: bool, damage: Callable[[str], bytes], sizes: list[int]
) -> None:
    body = damage(kind)
    headers = JSON if kind == "chat-body" else STREAM
    if is_packed:
        body, headers = gzip.compress(body, 1), {**headers, "content-encoding": "gzip"}
    read = partial(attempted, APIS[kind.partition("-")[0]], headers=headers, secrets=(SECRET,))
    short = told(read([body]))
    assert short[1] is None or SECRET.encode() not in short[1]
    for held in (0, len(body) - 1, len(body), len(body) + 1):
        long = read(chunks(body, sizes), limits=Limits(in_memory=held))
        assert told(long) == short


@settings(max_examples=10, deadline=None)
@given(sizes=SIZES)
def test_frames_go_through_a_file_as_they_are_held(sizes: list[int]) -> None:
    body = bedrock_wire.spelled(bedrock_wire.body(bedrock_wire.text(f"so {SECRET} on. " * 200)))
    read = partial(attempted, "bedrock-converse", headers={"content-type": FRAMES})
    for came in (body, body[:-30]):
        short = told(read([came], secrets=(SECRET[:8],)))
        long = read(chunks(came, sizes), secrets=(SECRET[:8],), limits=Limits(in_memory=100))
        assert told(long) == short


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("kind", ["anthropic-deltas", "chat-deltas", "chat-body"])
@settings(max_examples=3, deadline=None)
@given(sizes=SIZES)
def test_an_answer_is_read_up_to_the_limit_and_interrupted_above_it(
    kind: str, is_packed: bool, sizes: list[int]
) -> None:
    plain = body = answer(kind)
    headers = JSON if kind == "chat-body" else STREAM
    if is_packed:
        body, headers = gzip.compress(body, 1), {**headers, "content-encoding": "gzip"}
    read = partial(attempted, APIS[kind.partition("-")[0]], headers=headers)
    limits = Limits(in_memory=1000, read=len(plain))
    whole = read(chunks(body, sizes), limits=limits)
    assert isinstance(whole.events[-1], ResponseCompleted)
    cut = read(chunks(body, sizes), limits=Limits(in_memory=1000, read=len(plain) - 1))
    closing = cut.events[-1]
    assert isinstance(closing, ResponseInterrupted)
    assert closing.reason == "oversized"
    assert cut.raw is not None
    assert (gzip.decompress(cut.raw) if is_packed else cut.raw) == plain
    assert ("packed with gzip" in str(closing.detail)) == is_packed
    once = read([body], limits=Limits(in_memory=1000, read=len(plain) - 1))
    assert told(once)[0] == told(cut)[0]


def test_what_was_whole_before_the_limit_is_kept_as_blocks() -> None:
    body = answer("anthropic-deltas")
    end = body.index(b"event: message_delta")
    closed = attempted("anthropic-messages", [body], limits=Limits(read=end))
    assert [type(event).__name__ for event in closed.events] == [
        "MessageRecorded",
        "ResponseInterrupted",
    ]


def test_of_a_block_that_broke_off_an_event_holds_its_beginning_and_the_bytes_all() -> None:
    text = b"x" * 3_000_000
    body = b"".join(ANSWERS["anthropic-block"](1)).replace(b"and so", text, 1)
    end = body.index(b"event: content_block_stop")
    closed = attempted("anthropic-messages", [body[:end]])
    closing = closed.events[-1]
    assert isinstance(closing, ResponseInterrupted)
    assert [len(block.partial) for block in closing.unfinished] == [1024 * 1024]
    assert closed.raw == body[:end]


def test_an_error_of_any_length_is_recorded_by_its_beginning() -> None:
    page = b"<html>" + b"no " * 1_000_000 + SECRET.encode()
    [failed] = attempted(OF_OPENAI, [page], {}, 502, limits=Limits(in_memory=100)).events
    assert len(str(failed)) < 20_000


def test_what_cannot_be_read_nor_kept_is_closed_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> bytes:
        raise RecursionError

    monkeypatch.setattr(Credentials, "out_of_answer", fail)
    monkeypatch.setattr(Credentials, "out_of_text", fail)
    closed = attempted("anthropic-messages", [answer("anthropic-deltas")[:-9]])
    (closing,) = [event for event in closed.events if isinstance(event, CLOSING)]
    assert isinstance(closing, ResponseInterrupted)
    assert closing.detail == "the recorder could not read it"


def test_what_came_is_in_a_file_without_a_name(tmp_path: Path) -> None:
    raw = RawBytes(Scratch(tmp_path / "spool", is_encrypted=False), Limits(in_memory=10))
    raw.take(b"0123456789")
    raw.write_out()
    assert raw.is_held
    raw.take(b"abc")
    raw.write_out()
    assert not raw.is_held
    assert list((tmp_path / "spool").iterdir()) == []
    assert b"".join(raw.pieces()) == b"0123456789abc"


def test_no_more_is_kept_than_is_said_to_be(tmp_path: Path) -> None:
    body = answer("chat-body")
    limits = Limits(in_memory=100, read=1000, in_file=2000)
    closed = attempted(OF_OPENAI, chunks(body, [500]), JSON, limits=limits)
    closing = closed.events[-1]
    assert isinstance(closing, ResponseInterrupted)
    assert closing.reason == "oversized"
    assert "no more than 2000 bytes" in str(closing.detail)
    assert closed.raw == body[: len(closed.raw or b"")]
    assert 2000 < len(closed.raw or b"") <= 2500


def no_room(*_: Any) -> Any:
    raise OSError(28, "No space left on device")


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("blob_bytes", "bodies.answer_body"):
        monkeypatch.setattr(f"onrecord.adapters.wire.{module}.UnnamedFile", no_room)


def test_a_full_disk_interrupts_a_body_and_keeps_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill_disk(monkeypatch)
    body = answer("chat-body")
    closed = attempted(OF_OPENAI, chunks(body, [500]), JSON, limits=Limits(in_memory=100))
    closing = closed.events[-1]
    assert isinstance(closing, ResponseInterrupted)
    assert closing.reason == "oversized"
    assert "No space left" in str(closing.detail)


def test_a_full_disk_takes_nothing_from_a_stream_that_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    fill_disk(monkeypatch)
    body = answer("chat-deltas")
    closed = attempted(OF_OPENAI, chunks(body, [500]), limits=Limits(in_memory=100))
    assert told(closed) == told(attempted(OF_OPENAI, [body]))


def limited(monkeypatch: pytest.MonkeyPatch, limits: Limits) -> None:
    """Have a recorded client hold and read no more than that."""
    monkeypatch.setattr(exchange_recorder, "Attempt", partial(Attempt, limits=limits))


LONG = Answer(content=({"type": "text", "text": f"{KEY} and so on, " * 300},))


@pytest.mark.parametrize("streamed", [True, False])
def test_a_caller_has_all_of_an_answer_that_is_too_long_for_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, streamed: bool
) -> None:
    limited(monkeypatch, Limits(in_memory=100, read=2000))
    recorded = Recorded(tmp_path)
    with (
        calling(recorded, [LONG]) as calls,
        pytest.warns(RecordingWarning, match="too long to be read"),
    ):
        message = calls.stream() if streamed else calls.ask()
    assert message.content[0].to_dict() == LONG.content[0]
    closing = recorded.events()[-1]
    assert isinstance(closing, ResponseInterrupted)
    assert closing.reason == "oversized"
    assert closing.raw is not None
    raw = recorded.chat.blob(closing.raw)
    assert b"and so on" in raw
    assert KEY.encode() not in raw


def test_a_warning_that_is_an_error_is_none_of_the_callers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, Limits(in_memory=100, read=2000))
    recorded = Recorded(tmp_path)
    with calling(recorded, [LONG]) as calls, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert calls.ask().stop_reason == "end_turn"
    assert isinstance(recorded.events()[-1], ResponseInterrupted)


def test_a_full_disk_does_not_disturb_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, Limits(in_memory=100, read=2000))
    fill_disk(monkeypatch)
    recorded = Recorded(tmp_path)
    with (
        calling(recorded, [LONG]) as calls,
        pytest.warns(RecordingWarning, match="too long to be read"),
    ):
        message = calls.ask()
    assert message.content[0].to_dict() == LONG.content[0]
    closing = recorded.events()[-1]
    assert isinstance(closing, ResponseInterrupted)
    assert "No space left" in str(closing.detail)


def test_what_no_store_takes_waits_with_its_bytes_and_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, Limits(in_memory=100, read=2000))
    recorded = Recorded(tmp_path)

    def script(_: Any) -> Answer:
        recorded.counting.broken = FULL
        return LONG

    with calling(recorded, script) as calls, warnings.catch_warnings():
        warnings.simplefilter("ignore", RecordingWarning)
        calls.ask()
    recorded.counting.broken = None
    assert len(list(recorded.spool.folder.iterdir())) == 1
    with pytest.warns(RecordingWarning, match="in time: 1 "):
        recorded.spool.take_in(recorded.store)
    closing = recorded.events()[-1]
    assert isinstance(closing, ResponseInterrupted)
    assert closing.raw is not None
    assert b"and so on" in recorded.chat.blob(closing.raw)
    assert list(recorded.spool.folder.iterdir()) == []


def waiting(folder: Path, *contents: bytes) -> PendingAppend:
    """Events that no store took, with long blobs beside them."""
    first = unstored("Hello", blob=b"short")
    files: list[FileBytes] = [
        filed((content,), Scratch(folder, is_encrypted=False)) for content in contents
    ]
    own = first.append.conversation_id
    events = (*first.append.events, *(drafted(attachment(it.blob), own) for it in files))
    blobs = {**first.blobs, **{it.blob.sha256: it for it in files}}
    return PendingAppend(first.append._replace(events=events), blobs)


def test_long_blobs_come_back_from_the_spool(tmp_path: Path) -> None:
    store = Memory()
    unrecorded = waiting(tmp_path, b"one\n" * 200_000, b"", b"\x00\n\xff" * 300_000)
    begin(store, unrecorded)
    Spool(tmp_path).put(unrecorded, FULL)
    with pytest.warns(RecordingWarning):
        assert Spool(tmp_path).take_in(store) == 1
    own = unrecorded.append.conversation_id
    blobs = [blob for event in unrecorded.append.events for blob in event.blobs]
    assert [b"".join(store.get_blob(own, blob)) for blob in blobs] == [
        b"short",
        b"one\n" * 200_000,
        b"",
        b"\x00\n\xff" * 300_000,
    ]
    assert list(tmp_path.iterdir()) == []


def test_what_waits_with_long_blobs_can_be_forgotten(tmp_path: Path) -> None:
    unrecorded = waiting(tmp_path, b"forget me" * 100_000)
    spool = Spool(tmp_path)
    spool.put(unrecorded, FULL)
    assert len(list(tmp_path.iterdir())) == 1
    spool.forget(unrecorded.append.conversation_id)
    assert list(tmp_path.iterdir()) == []


class Wire:
    """A body that comes in these chunks."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self.chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            yield chunk

    async def aclose(self) -> None:
        """Release nothing."""


def test_no_event_loop_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writers: set[int] = set()
    write_out = RawBytes.write_out

    def noted(raw: RawBytes) -> None:
        writers.add(threading.get_ident())
        write_out(raw)

    monkeypatch.setattr(RawBytes, "write_out", noted)
    closed = Closed()
    secret = Credentials((), digest)
    limits = Limits(in_memory=1000)
    scratch = Scratch(tmp_path, is_encrypted=False)
    attempt = Attempt(
        WIRES[OF_OPENAI], UUID(int=1), None, lambda: secret, closed.close, scratch, limits
    )
    attempt.answered(200, STREAM)
    body = answer("chat-deltas")

    async def read() -> bytes:
        return b"".join([it async for it in AsyncRecordedBody(Wire(chunks(body, [600])), attempt)])

    assert asyncio.run(read()) == body
    assert writers
    assert threading.get_ident() not in writers
    assert told(closed) == told(attempted(OF_OPENAI, [body]))


def test_an_answer_with_alternatives_is_oversized_if_it_is_itself() -> None:
    other = AnswerRead(api="openai-chat")
    answer_cut = AnswerRead(api="openai-chat", interruption="oversized", alternatives=(other,))
    event_of = WIRES["openai-chat"].event_of
    assert is_oversized(events_of(answer_cut, event_of, response=UUID(int=1)))
    assert not is_oversized(events_of(other, event_of, response=UUID(int=1)))
