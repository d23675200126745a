"""What no service should send over the Responses API, but some do: it is told, and kept."""

import json

import pytest

from tests.adapters.wire.openai_responses.openai_responses_streams import (
    added,
    answered,
    around,
    done,
    fed,
    odd,
    told,
    values,
)
from tests.openai_responses_wire import (
    JsonObject,
    call,
    event,
    item_events,
    message,
    numbered,
    response,
    stream_events,
)


def test_an_event_of_a_new_kind_that_is_about_an_item_is_nothing_odd() -> None:
    said = {"id": "holo_1", "type": "hologram", "scene": "whole"}
    answer = answered(
        around(
            added(0, said),
            told(0, "hologram.in_progress", item_id="holo_1"),
            told(0, "hologram_scene.delta", item_id="holo_1", delta="wh"),
            done(0, said),
            output=[said],
        )
    )
    assert values(answer) == [said]
    assert odd(answer) == []


@pytest.mark.parametrize(
    "strange",
    [
        {"type": "response.audio.delta", "delta": "UklGRg=="},
        {"type": "response.hologram.delta", "output_index": 7, "delta": "x"},
        {"type": "weather.changed"},
        {"type": None},
        added(0, message()),
        added(-1, message()),
        added(True, message()),
        added(10**9, message()),
        added(1, "text"),
        done(0, message("Another.")),
        done(1, None),
    ],
)
def test_what_is_not_understood_is_kept_with_its_bytes(strange: JsonObject) -> None:
    answer = answered(around(*item_events(0, message()), strange, output=[message()]))
    [anomaly] = answer.anomalies
    assert json.loads(anomaly.raw).items() >= strange.items()
    assert values(answer) == [message()]
    assert answer.is_complete
    assert answer.needs_raw


def test_deltas_of_an_unfinished_item_that_have_no_place_in_it_are_counted() -> None:
    answer = answered(
        numbered(
            [
                next(stream_events(response())),
                added(0, {**message(), "content": "text"}),
                told(0, "output_text.delta", content_index=0, delta="lost"),
                told(0, "output_text.delta", content_index=10**9, delta="lost"),
                told(0, "hologram_scene.delta", delta="lost"),
                told(0, "function_call_arguments.delta", delta=None),
            ]
        )
    )
    assert [one.value for one in answer.unfinished] == [{**message(), "content": "text"}]
    assert odd(answer) == ["4 events that have no place in their item"]


def test_the_end_that_gateways_add_is_nothing_odd() -> None:
    events = map(event, stream_events(response(message())))
    answer = fed(*events, b"data: [DONE]\n\n").finish()
    assert (answer.is_complete, odd(answer)) == (True, [])


def test_what_follows_the_last_event_is_kept() -> None:
    stream = fed(*map(event, stream_events(response(message()))))
    assert stream.feed(event(done(0, message("late"))))
    answer = stream.finish()
    assert values(answer) == [message()]
    assert odd(answer) == ["an event of type response.output_item.done after the last one"]


@pytest.mark.parametrize(
    "wrong", [b"data: {not json}\n\n", b"data: []\n\n", b'data: {"n": NaN}\n\n', b"data: \xff\n\n"]
)
def test_what_cannot_be_read_spoils_the_answer_but_no_other_item(wrong: bytes) -> None:
    first, *rest = map(event, stream_events(response(message(), call())))
    answer = fed(first, wrong, *rest).finish()
    assert answer.interruption == "malformed"
    assert values(answer) == [message(), call()]
    assert wrong.startswith(b"data: " + answer.anomalies[0].raw)


def test_a_last_event_that_cannot_be_read_is_still_the_last() -> None:
    *events, _ = map(event, stream_events(response(message())))
    stream = fed(*events)
    assert stream.feed(b"event: response.completed\ndata: {broken\n\n")
    assert stream.finish().interruption == "malformed"


def test_a_last_event_without_its_response_is_malformed() -> None:
    answer = answered(
        [*list(stream_events(response(message())))[:-1], {"type": "response.completed"}]
    )
    assert answer.interruption == "malformed"
    assert values(answer) == [message()]


def test_halves_of_a_character_in_two_deltas_are_joined() -> None:
    answer = answered(
        numbered(
            [
                next(stream_events(response())),
                added(0, {**call(), "arguments": ""}),
                told(0, "function_call_arguments.delta", delta="\ud83d"),
                told(0, "function_call_arguments.delta", delta="\ude00"),
            ]
        )
    )
    assert answer.unfinished[0].value["arguments"] == "\U0001f600"
