"""Damaged answers of the Responses API: nothing raises, no byte is lost, what is odd is reported."""

import copy
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import gettempdir
from typing import Any, cast
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.wire.answer import Conclusion, Recording
from onrecord.adapters.wire.bodies.attempt import Attempt
from onrecord.adapters.wire.bodies.credentials import Credentials
from onrecord.adapters.wire.openai_responses.wire import WIRE
from onrecord.adapters.wire.raw_bytes import pieces_of
from onrecord.domain.encoding import encode
from onrecord.domain.errors import InvalidContent
from onrecord.domain.events import Event, ResponseCompleted, ResponseInterrupted
from onrecord.domain.jsontext import write
from tests.adapters.wire.anthropic.test_capture_anthropic_properties import SIZES, VALUES
from tests.adapters.wire.openai_responses.test_capture_openai_responses_properties import OUTPUTS
from tests.anthropic_wire import chunks
from tests.openai_responses_wire import JsonObject, event, response, stream_events

STREAM, BODY = "text/event-stream", "application/json"
# What an event says of itself, and not of the response.
BOOKKEEPING = frozenset({"type", "item_id", "sequence_number", "status"})


def streams(output: list[JsonObject], piece: int) -> list[JsonObject]:
    return list(stream_events(response(*output), piece))


STREAMS = st.builds(streams, OUTPUTS, st.integers(2, 9))


def attempted(body: bytes, sizes: list[int], kind: str) -> Recording:
    """What an attempt records that is answered with these bytes."""
    closed: list[Conclusion] = []
    attempt = Attempt(
        WIRE,
        UUID(int=1),
        None,
        lambda: Credentials((), lambda text: text.encode("utf-8", "surrogatepass")),
        lambda recording, _: closed.append(recording),
        Path(gettempdir()),
    )
    complaints = Complaints()
    logger = logging.getLogger("onrecord")
    logger.addHandler(complaints)
    try:
        attempt.answered(200, {"content-type": kind})
        for chunk in chunks(body, sizes):
            attempt.feed(chunk)
        attempt.finish()
    finally:
        logger.removeHandler(complaints)
    assert not complaints.records, complaints.records[0].exc_info
    [(events, blobs)] = closed
    return events, {digest: b"".join(pieces_of(content)) for digest, content in blobs.items()}


class Complaints(logging.Handler):
    """Keeps what is logged: a fault of the reader, which the attempt caught."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@st.composite
def damaged(draw: st.DrawFn, events: st.SearchStrategy[list[JsonObject]]) -> list[JsonObject]:
    """A stream some of whose events were dropped, doubled, moved or changed."""
    told = copy.deepcopy(draw(events))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(told) - 1))
        match draw(st.sampled_from(["drop", "double", "move", "change"])):
            case "drop" if len(told) > 1:
                del told[place]
            case "double":
                told.insert(place, copy.deepcopy(told[place]))
            case "move":
                told.insert(draw(st.integers(0, len(told) - 1)), told.pop(place))
            case _:
                change(told[place], draw)
    return told


def change(value: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
    """Change one member of a value, somewhere within: another value, or none at all."""
    members = keys_of(value)
    if not members:
        return
    member = draw(st.sampled_from(members))
    if keys_of(value[member]) and draw(st.booleans()):
        change(value[member], draw)
    elif draw(st.booleans()):
        value[member] = draw(VALUES)
    else:
        del value[member]


def keys_of(value: Any) -> list[Any]:
    match value:
        case dict():
            return list(cast("JsonObject", value))
        case list():
            return list(range(len(cast("list[Any]", value))))
        case _:
            return []


def spelled(told: list[JsonObject]) -> bytes:
    return b"".join(event({"type": None, **data}) for data in told)


def closing_of(recording: Recording) -> ResponseCompleted | ResponseInterrupted:
    last = recording[0][-1]
    assert isinstance(last, ResponseCompleted | ResponseInterrupted)
    return last


def texts_in(value: Any) -> Iterator[str]:
    """Every text that a value says, and the name of all that is not empty."""
    match value:
        case str() if value:
            yield value
        case dict():
            for name, held in cast("JsonObject", value).items():
                if held:
                    yield from (name, *texts_in(held))
        case list():
            for held in cast("list[Any]", value):
                yield from texts_in(held)
        case _:
            return


def texts_told(data: JsonObject) -> set[str]:
    """The texts of an event that are not told elsewhere, whole: pieces of text are."""
    said = {name: value for name, value in data.items() if name not in BOOKKEEPING}
    for name in ("item", "response"):
        if isinstance(said.get(name), dict):
            said[name] = {key: value for key, value in said[name].items() if key != "status"}
    return set(texts_in(said))


def recorded_texts(events: tuple[Event, ...], blobs: dict[str, bytes]) -> set[str]:
    bodies = [json.loads(encode(one)) for one in events]
    spilled = {data.decode("utf-8", "surrogatepass") for data in blobs.values()}
    return {text for body in bodies for text in texts_in(body)} | spilled


@given(damaged(STREAMS), SIZES)
def test_no_byte_of_a_damaged_stream_is_lost(told: list[JsonObject], sizes: list[int]) -> None:
    body = spelled(told)
    events, blobs = attempted(body, sizes, STREAM)
    raw = closing_of((events, blobs)).raw
    if raw is not None:
        assert blobs[raw.sha256] == body
        return
    kept = recorded_texts(events, blobs)
    whole = "\n".join(kept)
    pieces = {text for data in told if "delta" in data for text in texts_in(data["delta"])}
    assert all(piece in whole for piece in pieces)
    others = [data for data in told if "delta" not in data]
    said = {text for data in others for text in texts_told(data)}
    # An event has members of its own, and what it says stands elsewhere by other names.
    names = {name for data in told for name in data} | {"text", "part", "output"}
    assert said - names <= kept


@given(damaged(STREAMS), st.data())
def test_a_stream_damaged_at_any_byte_is_kept(told: list[JsonObject], data: st.DataObject) -> None:
    body = bytearray(spelled(told))
    at = data.draw(st.integers(0, len(body) - 1))
    body[at : at + data.draw(st.integers(0, 60))] = data.draw(st.binary(max_size=4))
    events, blobs = attempted(bytes(body), [len(body)], STREAM)
    assert all(encode(one) for one in events)
    raw = closing_of((events, blobs)).raw
    assert raw is None or blobs[raw.sha256] == bytes(body)


@given(damaged(STREAMS), st.integers(0, 2**20))
def test_a_stream_cut_at_any_byte_is_kept(told: list[JsonObject], at: int) -> None:
    body = spelled(told)
    body = body[: at % len(body)]
    events, blobs = attempted(body, [64], STREAM)
    closing = closing_of((events, blobs))
    assert closing.raw is None or blobs[closing.raw.sha256] == body
    if isinstance(closing, ResponseInterrupted):
        assert closing.raw is not None


@given(OUTPUTS, st.data())
def test_no_byte_of_a_damaged_body_is_lost(output: list[JsonObject], data: st.DataObject) -> None:
    said = copy.deepcopy(response(*output))
    for _ in range(data.draw(st.integers(1, 4))):
        change(said, lambda strategy: data.draw(strategy))
    body = write(said)
    events, blobs = attempted(body, [64], BODY)
    raw = closing_of((events, blobs)).raw
    assert raw is None or blobs[raw.sha256] == body
    assert raw or set(texts_in(said)) - {"output"} <= recorded_texts(events, blobs)


@given(st.dictionaries(st.sampled_from(["input", "instructions", "tools", "model"]), VALUES))
def test_no_request_makes_its_reader_raise_anything_but_its_errors(body: JsonObject) -> None:
    try:
        sent = WIRE.read_request(write(body))
    except InvalidContent:
        return
    assert all(piece.encoded for piece in sent.pieces)
