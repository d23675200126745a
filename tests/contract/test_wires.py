"""What holds of the wire of every API: its samples, damaged and cut as networks do."""

import gzip
import json
import re
from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.blob_bytes import pieces_of
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.blobs import restore
from onrecord.domain.content import Native
from onrecord.domain.encoding import VERSIONS, decode, encode, name_of
from onrecord.domain.events import (
    Event,
    ResponseCompleted,
    ToolCallRecorded,
    Unfinished,
)
from onrecord.projections.api import names
from tests.adapters.wire.attempts import CLOSING, Closed, attempted
from tests.contract.samples import (
    BODIES,
    BOTH,
    EVERY,
    ROLES,
    STREAMS,
    JsonObject,
    Sample,
    read,
    samples_of,
    spelled,
    values,
)
from tests.damage import damage, damaged, places, texts
from tests.sent import events_of

each_sample = pytest.mark.parametrize("sample", EVERY, ids=str)
each_api = pytest.mark.parametrize("api", names())
sizes = st.lists(st.integers(1, 90), min_size=1, max_size=4)
ODD = ["\ud800", "\u2028", "e\u0301", ""]
OBJECTS = [one for one in BODIES if one.data.startswith(b"{")]
"""Bodies in which nothing takes the place of what was said before, as in a list of chunks."""
UNCUT = [one for one in EVERY if one.path.stem != "continuation"]
"""Samples without a token that is cut out of bytes that are kept."""
REPLACED = {"sse-spellings", "thinking-signature-replaced", "fallback", "character-in-two"}
"""Samples in which one text takes the place of another, or that are no JSON text by text."""
WHOLE = [one for one in UNCUT if one.expected["complete"] and one.path.stem not in REPLACED]


def events_in(answer: Answer) -> tuple[list[Event], dict[str, bytes]]:
    """The events of an answer, as the log gives them back."""
    events, blobs = events_of(answer, response=UUID(int=1))
    return [stored(event) for event in events], dict(blobs)


def stored(event: Event) -> Event:
    name = name_of(event)
    found = decode(name, VERSIONS[name], encode(event))
    assert isinstance(found, Event)
    return found


def natives_in(events: Sequence[Event]) -> list[Native]:
    """What the API itself said, in events of an answer; a picture in one is its document's."""
    contents: list[Any] = [getattr(event, "content", ()) for event in events]
    blocks: list[Any] = []
    for content in contents:
        blocks.extend(cast("Any", content) if isinstance(content, tuple) else [content])
    return [block for block in blocks if isinstance(block, Native)]


# The samples say what they must.


@each_api
def test_an_api_has_samples_and_each_says_what_it_must_give(api: str) -> None:
    found = samples_of(api)
    assert any(sample.is_body for sample in found)
    assert any(not sample.is_body for sample in found)
    folder = found[0].path.parent
    told = {path.name.removesuffix(".expected.json") for path in folder.glob("*.expected.json")}
    assert told == {sample.path.stem for sample in found}


@each_sample
@pytest.mark.parametrize("size", [1, 64, 1_000_000])
def test_a_sample_is_read_as_its_expectation_says(sample: Sample, size: int) -> None:
    expected, answer = sample.expected, sample.read([size])
    others = [[block.value for block in other.blocks] for other in answer.alternatives]
    sort = not sample.ways.keeps_order
    for said, wanted in [
        ([block.value for block in answer.blocks], expected["blocks"]),
        (shown(answer.unfinished, expected["unfinished"]), expected["unfinished"]),
        (others, expected.get("alternatives", [])),
        (answer.error, expected.get("error")),
    ]:
        assert json.dumps(said, sort_keys=sort) == json.dumps(wanted, sort_keys=sort)
    assert answer.is_complete == expected["complete"]


def shown(unfinished: Sequence[Unfinished], expected: list[JsonObject]) -> list[JsonObject]:
    """Unfinished blocks as the expectation spells them: what came in pieces apart, or in its place."""
    found: list[JsonObject] = []
    for part, wanted in zip(unfinished, [*expected, *({} for _ in unfinished)], strict=False):
        block, kind = part.value, part.value.get("type")
        apart = [name for name in ("partial", "partial_json") if name in wanted]
        if part.partial and not apart and isinstance(kind, str):
            block = {**block, kind: block[kind] + part.partial}
        found.append({"index": part.index, "block": block, **dict.fromkeys(apart, part.partial)})
    return found


@each_sample
def test_what_a_sample_says_beside_its_blocks_is_in_the_envelope(sample: Sample) -> None:
    expected, answer = sample.expected, sample.read()
    envelope = {
        name: value
        for name, value in answer.envelope.items()
        if name not in sample.ways.untold or name in expected.get("envelope", {})
    }
    told = {
        "envelope": envelope,
        **{it: answer.envelope.get(it) for it in ("choices", "candidates")},
    }
    checked = told.keys() & expected.keys()
    assert len(checked) == 1
    sort = not sample.ways.keeps_order or "candidates" in checked
    for name in checked:
        assert json.dumps(told[name], sort_keys=sort) == json.dumps(expected[name], sort_keys=sort)


@each_sample
def test_what_a_sample_says_is_not_understood_is_kept_as_bytes(sample: Sample) -> None:
    expected, answer, notes = sample.expected, sample.read(), sample.ways.notes
    noted = [one.what for one in answer.anomalies if notes and one.what.startswith(notes)]
    others = [one for one in answer.anomalies if one.what not in noted]
    kept = [json.loads(one.raw) for one in others if one.raw]
    assert kept == expected.get("not_understood", [])
    whats = [what.partition(":")[0] for what in noted] or [it.what for it in others if not it.raw]
    assert whats == expected.get("odd", [])


@each_sample
def test_results_are_awaited_where_an_answer_stopped_for_its_calls(sample: Sample) -> None:
    answer = sample.read()
    if any("awaits_results" in other.expected for other in samples_of(sample.api)):
        assert answer.awaits_results == sample.expected.get("awaits_results", False)
    events, _ = events_in(answer)
    calls = [event for event in events if isinstance(event, ToolCallRecorded)]
    assert all(call.awaited == answer.awaits_results for call in calls)
    assert answer.is_complete or not answer.awaits_results


@pytest.mark.parametrize(("stream", "body"), BOTH, ids=str)
def test_a_stream_is_recorded_as_its_body_is_event_for_event(stream: Sample, body: Sample) -> None:
    streamed, whole = stream.read(), body.read()
    told, said = (
        json.dumps([blocks(it), *map(blocks, it.alternatives)]) for it in (streamed, whole)
    )
    if stream.ways.keeps_order:
        assert told == said
    one, other = (without_names(said_in(events_in(it)[0])) for it in (streamed, whole))
    assert one == other
    for part in ("stop_reason", "model", "input_tokens", "output_tokens", "provider_id"):
        assert getattr(streamed, part) == getattr(whole, part), part


def said_in(events: list[Event]) -> list[Event]:
    return [event for event in events if not isinstance(event, CLOSING)]


def without_names(events: list[Event]) -> list[JsonObject]:
    """Events without what differs from one recording to the next: ids, and how bytes were packed."""
    fleeting = {"raw": None, "response": None, "line": None}
    return [{**event.model_dump(mode="json"), **fleeting} for event in events]


def blocks(answer: Answer) -> list[JsonObject]:
    return [block.value for block in answer.blocks]


# What is recorded of an answer.


@each_sample
def test_blocks_come_back_out_of_stored_events_as_they_were_said(sample: Sample) -> None:
    answer = sample.read()
    events, blobs = events_in(answer)
    values = [restore(native.value, blobs) for native in natives_in(said_in(events))]
    said = [block for each in (answer, *answer.alternatives) for block in blocks(each)]
    assert json.dumps(values) == json.dumps(said)
    (closing, *others) = [event for event in events if isinstance(event, CLOSING)]
    assert len(others) == len(answer.alternatives)
    assert isinstance(closing, ResponseCompleted) == answer.is_complete
    assert isinstance(events[-1], CLOSING)


@pytest.mark.parametrize("sample", [it for it in EVERY if "error" not in it.expected], ids=str)
@pytest.mark.parametrize("encoding", [None, "gzip"])
def test_an_answer_comes_to_the_same_packed_and_in_any_chunks(
    sample: Sample, encoding: str | None
) -> None:
    plain, headers = sample.data, {"content-type": sample.content_type}
    packed = gzip.compress(plain, mtime=0) if encoding else plain
    sent = headers if encoding is None else {**headers, "content-encoding": encoding}
    once = attempted(sample.api, [plain], headers)
    again = attempted(sample.api, (packed[at : at + 7] for at in range(0, len(packed), 7)), sent)
    assert without_names(again.events) == without_names(once.events)


# Answers that a network damages.


@each_api
@given(st.data())
def test_a_stream_cut_at_any_byte_says_nothing_but_what_the_whole_says(
    api: str, data: st.DataObject
) -> None:
    sample = data.draw(st.sampled_from([one for one in STREAMS if one.api == api]))
    wire = sample.data
    cut = wire[: data.draw(st.integers(0, len(wire)))]
    part, whole = read(sample, cut), sample.read()
    assert part.is_complete <= whole.is_complete
    if part.interruption == "cut":
        said = iter(blocks(whole))
        assert all(
            block in said for block in blocks(part)
        )  # In order: each is looked for on from there.
        assert not part.awaits_results
        assert part.needs_raw
    closing = next(event for event in events_in(part)[0] if isinstance(event, CLOSING))
    assert isinstance(closing, ResponseCompleted) == part.is_complete
    closed = attempted(sample.api, [cut], {"content-type": sample.content_type})
    assert closed.raw == cut if part.interruption == "cut" else closed.raw in (None, cut)


@pytest.mark.parametrize("sample", [one for one in BODIES if one.expected["complete"]], ids=str)
def test_a_body_cut_at_any_byte_is_not_guessed(sample: Sample) -> None:
    body = sample.data.rstrip()
    step = max(1, len(body) // 99)
    for at in (*range(0, len(body), step), len(body) - 1):
        assert WIRES[sample.api].read_body(body[:at], "malformed", None).blocks == ()
        assert WIRES[sample.api].read_body(body[:at], "cut", None).interruption == "cut"


@each_api
@given(st.binary(max_size=300), sizes, st.booleans())
def test_no_bytes_make_a_reader_raise(
    api: str, data: bytes, sizes: list[int], is_event: bool
) -> None:
    sample = next(one for one in STREAMS if one.api == api)
    answer = read(sample, b"data: " + data + b"\n\n" if is_event else data, sizes)
    assert answer.interruption in ("cut", "malformed")
    assert answer.needs_raw
    body = WIRES[api].read_body(data, "malformed", None)
    assert body.interruption == "malformed"
    assert body.needs_raw


@each_api
@given(values)
def test_a_body_of_any_shape_is_read_and_recorded(api: str, value: Any) -> None:
    answer = WIRES[api].read_body(json.dumps(value).encode(), "malformed", None)
    assert events_in(answer)[0]


@each_api
@given(st.data())
def test_no_damage_makes_a_reader_raise_and_what_it_did_not_understand_is_kept(
    api: str, data: st.DataObject
) -> None:
    sample = data.draw(st.sampled_from([one for one in UNCUT if one.api == api]))
    wire = bytearray(sample.data or b" ")
    at = data.draw(st.integers(0, len(wire) - 1))
    wire[at : at + data.draw(st.integers(0, 60))] = data.draw(st.binary(max_size=3))
    answer = read(sample, bytes(wire))
    assert events_in(answer)[0]
    closed = attempted(sample.api, [bytes(wire)], {"content-type": sample.content_type})
    if closed.raw is not None:
        assert closed.raw == bytes(wire)
    else:
        assert not answer.needs_raw


@each_api
@given(st.data())
def test_what_a_damaged_answer_says_is_recorded_or_its_bytes_are(
    api: str, data: st.DataObject
) -> None:
    """Events dropped, doubled, swapped; members dropped, renamed, of another type; cut anywhere."""
    sample = data.draw(st.sampled_from([one for one in WHOLE if one.api == api]))
    ways = sample.ways
    if sample.is_body:
        told = [json.loads(sample.data)]
        for _ in range(data.draw(st.integers(1, 3))):
            damage(told[0], data)
        wire = spelled(told[0])
    else:
        told = damaged(ways.events(sample.path.read_bytes()), data)
        wire = ways.spelled(ways.as_text(told))
    came = wire[: data.draw(st.integers(0, len(wire)) | st.just(len(wire)))]
    answer = read(sample, came)
    events, blobs = events_in(answer)
    values = [restore(native.value, blobs) for native in natives_in(said_in(events))]
    said = [block for each in (answer, *answer.alternatives) for block in blocks(each)]
    assert json.dumps(values) == json.dumps(said)
    assert answer.is_complete or answer.needs_raw or answer.interruption == "deferred"
    closed = attempted(sample.api, [came], {"content-type": sample.content_type})
    if closed.raw is not None:
        assert closed.raw == came
        return
    assert not answer.needs_raw
    recorded = [json.loads(encode(event)) for event in closed.events]
    known = "\n".join((*texts(recorded, frozenset()), *restored(closed), *ROLES))
    passing = frozenset[str]() if sample.is_body else ways.passing
    assert [text for text in texts(told, passing) if text not in known] == []


def restored(closed: Closed) -> list[str]:
    """The strings that were moved out of the events."""
    [(_, blobs)] = closed.recordings
    return [b"".join(pieces_of(content)).decode("utf-8", "replace") for content in blobs.values()]


@each_api
@given(st.data())
def test_a_member_that_nobody_heard_of_is_kept_to_the_letter_wherever_it_stands(
    api: str, data: st.DataObject
) -> None:
    """In a block, in the envelope, or in the bytes of what was not understood."""
    sample = data.draw(st.sampled_from([one for one in OBJECTS if one.api == api]))
    body = sample.data
    ends = [found.end() for found in re.finditer(rb"\{(?=\s*\")", body)]
    at = data.draw(st.sampled_from(ends))
    odd = json.dumps(
        {"z": 10**40, "a": None, "ratio": 0.1, "half": data.draw(st.sampled_from(ODD))}
    )
    wire = b'%s"unheardOf": %s, %s' % (body[:at], odd.encode(), body[at:])
    closed = attempted(sample.api, [wire], {"content-type": sample.content_type})
    if closed.raw is None:
        events = [event.model_dump() for event in closed.events]
        assert odd in json.dumps(events, default=str)
    else:
        assert closed.raw == wire


@each_api
def test_long_strings_of_an_answer_go_to_blobs_and_come_back(api: str) -> None:
    long = "\u00e9" * 50_000
    sample, text = next(
        (sample, text)
        for sample in BODIES
        if sample.api == api
        for holder, name in places(sample.expected["blocks"])
        if name in ("text", "content") and isinstance(text := holder[name], str) and len(text) > 5
    )
    body = sample.data.decode().replace(json.dumps(text, ensure_ascii=False), f'"{long}"')
    answer = WIRES[api].read_body(body.encode(), "malformed", None)
    events, blobs = events_in(answer)
    assert long.encode() in blobs.values()
    assert max(len(encode(event)) for event in events) < len(long)
    values = [restore(native.value, blobs) for native in natives_in(said_in(events))]
    assert json.dumps(values) == json.dumps(blocks(answer))
