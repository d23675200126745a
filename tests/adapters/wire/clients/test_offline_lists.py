"""A list in hand holds one answer: two of them are refused, and none is recorded."""

import json
from collections.abc import Iterator
from contextlib import suppress

import pytest

import onrecord
from onrecord.adapters.wire.wires import WIRES
from tests.adapters.wire.clients.offline_exchanges import prompted
from tests.contract.samples import BODIES, STREAMS, WAYS, JsonObject, Sample


@pytest.fixture
def chat() -> onrecord.Conversation:
    return prompted()


@pytest.mark.parametrize("api", sorted(WAYS))
def test_several_answers_in_one_list_are_refused_and_none_is_recorded(
    api: str, chat: onrecord.Conversation
) -> None:
    (first, *_) = [
        sample.path.read_text()
        for sample in BODIES
        if sample.api == api and sample.path.stem in ("text", "apply-patch")
    ]
    bodies = [json.loads(first), json.loads(first.replace('"resp-1"', '"resp-2"'))]
    version = chat.head().version
    chat.request(api)
    with pytest.raises(onrecord.InvalidContent, match=r"2 answers of|no answer of"):
        chat.record_response(bodies, api=api)
    assert chat.head().version == version


@pytest.mark.parametrize("api", sorted(WAYS))
def test_the_events_of_a_stream_are_of_one_answer_and_those_of_two_are_refused(
    api: str, chat: onrecord.Conversation
) -> None:
    count = WIRES[api].answers_among
    streams = [events for sample in STREAMS if sample.api == api for events in told(sample)]
    assert {count(events) for events in streams} <= {0, 1}
    one, two = [events for events in streams if count(events) == 1][:2]
    named = [event | {"responseId": "2"} if "responseId" in event else event for event in two]
    version = chat.head().version
    with pytest.raises(onrecord.InvalidContent, match=f"2 answers of {api}"):
        chat.record_response([*one, *named], api=api)
    assert chat.head().version == version


def told(sample: Sample) -> Iterator[list[JsonObject]]:
    """The events of a sample; none of one that is no JSON."""
    with suppress(ValueError):
        yield sample.ways.events(sample.path.read_bytes())


def test_a_stream_of_two_choices_is_one_answer_and_what_comes_behind_its_end_another() -> None:
    count = WIRES["openai-chat"].answers_among
    said: list[JsonObject] = [
        {"choices": [{"index": n, "delta": {"content": "Hi"}}]} for n in (0, 1)
    ]
    ended: list[JsonObject] = [
        {"choices": [{"index": n, "delta": {}, "finish_reason": "stop"}]} for n in (0, 1)
    ]
    used: list[JsonObject] = [{"choices": [], "usage": {"total_tokens": 3}}]
    assert count([said[0], ended[0], said[1], ended[1], *used]) == 1
    assert count([*said, *ended, *used, *said, *ended]) == 2
