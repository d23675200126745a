"""What a program has in hand of an exchange is recorded as if it had crossed a recorded wire."""

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onrecord
from tests.adapters.wire.clients.offline_exchanges import (
    MODEL,
    TARGETS,
    Said,
    body_of,
    events_in,
    in_hand,
    off_the_wire,
    prompted,
    said,
)
from tests.contract.samples import BODIES, EVERY, STREAMS, Sample
from tests.named_cases import without_address

RAW = frozenset({"raw"})
"""The bytes that are kept of what was cut, or not understood: events are spelled otherwise than these."""


STATUS = frozenset({"status"})
"""What a body does not say of itself."""
OF_BYTES = ("cut-in", "no-finish-reason", "error-lines")
"""How samples are named whose bytes say more than their events: half of one, `[DONE]`, a field."""


def on_wire(sample: Sample) -> onrecord.Conversation:
    chat = prompted()
    status = 429 if sample.path.stem == "error-body" else 200
    headers = {"content-type": sample.content_type}
    off_the_wire(chat, sample.api, sample.data, headers, status)
    return chat


def is_refused(chat: onrecord.Conversation) -> bool:
    """Whether the wire kept an answer only as bytes, or it says nothing at all."""
    *_, before, last = (each.event() for each in chat.events())
    if not isinstance(last, onrecord.ResponseInterrupted):
        return False
    says_nothing = isinstance(before, onrecord.RequestSent) and not last.unfinished
    return last.reason == "malformed" or (says_nothing and not (last.envelope or last.error))


def heard(chat: onrecord.Conversation, sample: Sample, without: frozenset[str] = STATUS) -> Said:
    """What a conversation holds, and its next request to the API that answered."""
    return said(chat, without=without, apis=[sample.api])


@pytest.mark.parametrize("sample", EVERY, ids=str)
def test_an_answer_in_hand_is_recorded_as_off_the_wire(sample: Sample) -> None:
    wire, chat = on_wire(sample), prompted()
    if is_refused(wire):
        with pytest.raises(onrecord.InvalidContent):
            in_hand(chat, sample.api, sample.data)
        assert [each.type for each in chat.events()][-1] == "request.sent"
        return
    in_hand(chat, sample.api, sample.data)
    assert said(chat, without=STATUS) == said(wire, without=STATUS)


@pytest.mark.parametrize("sample", BODIES, ids=str)
def test_a_mapping_is_recorded_as_its_json(sample: Sample) -> None:
    wire, chat = on_wire(sample), prompted()
    body: Any = json.loads(sample.data)
    if is_refused(wire) or not isinstance(body, dict):
        return
    in_hand(chat, sample.api, cast("object", body))
    assert heard(chat, sample, RAW | STATUS) == heard(wire, sample, RAW | STATUS)


@pytest.mark.parametrize("sample", STREAMS, ids=str)
def test_the_events_of_a_stream_are_recorded_as_its_bytes(sample: Sample) -> None:
    wire, chat, events = on_wire(sample), prompted(), events_in(sample)
    if is_refused(wire) or events is None or sample.path.stem.startswith(OF_BYTES):
        return
    in_hand(chat, sample.api, iter(events))
    assert heard(chat, sample, RAW) == heard(wire, sample, RAW)


@pytest.mark.parametrize("api", TARGETS)
@given(st.data())
def test_a_stream_cut_at_any_byte_is_recorded_as_off_the_wire(
    api: str, data: st.DataObject
) -> None:
    sample = data.draw(st.sampled_from([one for one in STREAMS if one.api == api]))
    cut = sample.data[: data.draw(st.integers(0, len(sample.data)))]
    wire, chat = prompted(), prompted()
    off_the_wire(wire, api, cut, {"content-type": sample.content_type})
    if is_refused(wire):
        with pytest.raises(onrecord.InvalidContent):
            in_hand(chat, api, cut)
        return
    in_hand(chat, api, [cut[at : at + 50] for at in range(0, len(cut), 50)])
    assert heard(chat, sample) == heard(wire, sample)


# Answers that are none of the API that they are said to be.


def is_error(sample: Sample) -> bool:
    """Whether nothing but an error is in a sample: a gateway may have one of any API."""
    return sample.path.stem in ("error-body", "error-event-first", "exception-first")


@pytest.mark.parametrize("sample", [it for it in EVERY if not is_error(it)], ids=str)
def test_an_answer_of_another_api_is_refused_and_nothing_is_recorded(sample: Sample) -> None:
    chat = prompted()
    for api in TARGETS.keys() - {sample.api}:
        request = body_of(chat, api)
        with pytest.raises(onrecord.InvalidContent):
            chat.record_response(sample.data, api=api, request=request, model=MODEL)
    assert [each.type for each in chat.events(after=1)] == ["instructions.set", "message.recorded"]


@pytest.mark.parametrize("api", TARGETS)
@pytest.mark.parametrize(
    "native",
    [
        *(b"", b" ", "", "Hello", b"{", {}, {"a": 1}, [], iter(()), 7, None, object(), ["a", b"b"]),
        *({"a": object()}, {1: 2}, [7], b"\xff\xfe", [{}], b"data: 1\n\n", b"\n\n{}\n{}\n"),
        {"a": float("nan")},
    ],
    ids=without_address,
)
def test_what_is_no_answer_at_all_is_refused_and_nothing_is_recorded(
    api: str, native: object
) -> None:
    chat = prompted()
    chat.request(api)
    with pytest.raises(onrecord.InvalidInput):
        chat.record_response(native, api=api, model=MODEL)
    assert chat.head().version == 3


def test_an_answer_nested_beyond_reason_is_refused() -> None:
    chat = prompted()
    chat.request("openai-chat")
    deep: Any = "a"
    for _ in range(100_000):
        deep = [deep]
    holding: list[Any] = []
    holding.append(holding)
    for content in (deep, holding):
        with pytest.raises(onrecord.InvalidInput):
            chat.record_response({"choices": content}, api="openai-chat")
    assert chat.head().version == 3
