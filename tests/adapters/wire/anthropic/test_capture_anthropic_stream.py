"""The assembly of a streamed answer: each rule of its deltas, and what fits none."""

import pytest

from onrecord.adapters.wire.anthropic.stream import MessageStream
from onrecord.adapters.wire.blocks import AnswerBlock
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import write
from tests.adapters.wire.anthropic.anthropic_streams import (
    answered,
    around,
    blocks,
    delta,
    fed,
    start,
    stop,
)
from tests.anthropic_wire import (
    JsonObject,
    block_events,
    call,
    event,
    message,
    spelled,
    stream_events,
    text,
)


def test_the_last_event_is_announced_by_the_chunk_that_completes_it() -> None:
    stream = MessageStream()
    data = spelled(message(text()))
    assert [stream.feed(data[:-1]), stream.feed(data[-1:]), stream.feed(b"")] == [
        False,
        True,
        True,
    ]


def test_an_error_event_is_a_last_event_too() -> None:
    error = {"type": "overloaded_error", "message": "Overloaded"}
    stream = MessageStream()
    assert stream.feed(event({"type": "error", "error": error}))
    answer = stream.finish()
    assert (answer.interruption, answer.error) == ("error", error)
    assert answer.detail == "overloaded_error"


def test_a_later_signature_replaces_the_earlier_one() -> None:
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    signatures = [delta(0, "signature_delta", signature=one) for one in ("a", "b")]
    answer = answered(*around(start(0, thinking), *signatures, stop(0)))
    assert blocks(answer) == [{**thinking, "signature": "b"}]


def test_a_signature_that_its_start_did_not_name_is_added() -> None:
    parts = [
        start(0, {"type": "thinking", "thinking": ""}),
        delta(0, "signature_delta", signature="s"),
        stop(0),
    ]
    assert blocks(answered(*around(*parts))) == [
        {"type": "thinking", "thinking": "", "signature": "s"}
    ]


@pytest.mark.parametrize("beginning", [{}, {"citations": None}, {"citations": []}])
def test_each_citations_delta_brings_one_citation(beginning: JsonObject) -> None:
    citations = [{"cited_text": "a", "title": None}, {"cited_text": "b"}]
    parts = [delta(0, "citations_delta", citation=one) for one in citations]
    answer = answered(*around(start(0, {**beginning, **text("")}), *parts, stop(0)))
    assert answer.blocks[0].value["citations"] == citations


def test_a_call_without_any_input_has_the_empty_input_of_its_start() -> None:
    answer = answered(
        *around(start(0, call()), delta(0, "input_json_delta", partial_json=""), stop(0))
    )
    assert blocks(answer) == [call()]
    assert answer.is_complete


def test_an_input_in_pieces_is_read_when_its_block_stops() -> None:
    wanted = call(1, n=12345678901234567890, x=None, y=[1.0, "é"])
    assert blocks(answered(*stream_events(message(wanted), piece=1))) == [wanted]


@pytest.mark.parametrize("broken", ['{"a": "b', '{"a": 1, "a": 2}', '{"a": NaN}', '{"a": 1e999}'])
def test_an_input_that_cannot_be_kept_is_never_guessed(broken: str) -> None:
    parts = [start(0, call()), delta(0, "input_json_delta", partial_json=broken), stop(0)]
    answer = answered(*around(*parts, stop_reason="max_tokens"))
    assert answer.blocks == ()
    assert answer.unfinished == (Unfinished(index=0, value=call(), partial=broken),)
    assert answer.is_complete
    assert answer.text("stop_reason") == "max_tokens"


@pytest.mark.parametrize("stop_reason", ["max_tokens", "model_context_window_exceeded", "refusal"])
def test_an_answer_that_stopped_amid_a_block_ended_as_it_must(stop_reason: str) -> None:
    half = [start(0, call()), delta(0, "input_json_delta", partial_json='{"a": "b')]
    answer = answered(*around(*half, stop_reason=stop_reason))
    assert answer.unfinished == (Unfinished(index=0, value=call(), partial='{"a": "b'),)
    assert answer.is_complete
    assert not answer.needs_raw


def test_an_answer_that_calls_tools_with_an_input_that_is_none_is_malformed() -> None:
    broken = delta(0, "input_json_delta", partial_json='{"a": NaN}')
    answer = answered(*around(start(0, call()), broken, stop(0), stop_reason="tool_use"))
    assert answer.interruption == "malformed"
    assert answer.detail == "stopped (tool_use) with a block that is not whole"


def test_an_input_nested_too_deeply_is_never_guessed() -> None:
    broken = "[" * 300 + "]" * 300
    parts = [start(0, call()), delta(0, "input_json_delta", partial_json=broken), stop(0)]
    assert answered(*around(*parts)).unfinished[0].partial == broken


def test_a_compaction_takes_what_its_delta_brings() -> None:
    empty = {"type": "compaction", "content": None, "signature": "s"}
    news = {"content": "All in all.", "encrypted_content": "enc"}
    answer = answered(*around(start(0, empty), delta(0, "compaction_delta", **news), stop(0)))
    assert blocks(answer) == [{**empty, **news}]


def test_a_fallback_changes_the_model_that_serves() -> None:
    fallback = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
    assert answered(*around(start(0, fallback), stop(0))).text("model") == "b"


def test_a_message_start_may_bring_whole_blocks() -> None:
    first = {"type": "message_start", "message": message(call(1, a=1), stop_reason="tool_use")}
    answer = answered(first, start(1, text("")), stop(1), {"type": "message_stop"})
    assert blocks(answer) == [call(1, a=1), text("")]
    assert answer.is_complete
    assert not answer.needs_raw


def test_counts_of_tokens_are_totals_and_a_null_leaves_what_was_known() -> None:
    first = {"type": "message_start", "message": message(cache={"a": 1})}
    usage = {"input_tokens": None, "output_tokens": 40, "server_tool_use": {"n": 1}}
    last: JsonObject = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "container": None, "stop_details": None},
        "usage": usage,
        "context_management": {"applied_edits": []},
    }
    answer = answered(first, last, {"type": "message_stop"})
    assert answer.envelope["usage"] == {
        "input_tokens": 11,
        "output_tokens": 40,
        "server_tool_use": {"n": 1},
    }
    assert answer.envelope["context_management"] == {"applied_edits": []}
    assert answer.envelope["container"] is None
    assert answer.envelope["cache"] == {"a": 1}


def test_why_a_message_stopped_is_what_its_last_delta_says_even_if_that_is_nothing() -> None:
    first = {"type": "message_start", "message": message(stop_sequence="END")}
    last = {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}}
    answer = answered(first, last, {"type": "message_stop"})
    assert answer.envelope["stop_sequence"] is None


def test_a_message_that_does_not_say_why_it_stopped_is_complete_but_odd() -> None:
    first, *_, last = stream_events({**message(text()), "stop_reason": None})
    answer = answered(first, *block_events(0, text()), last)
    assert answer.is_complete
    assert answer.needs_raw


def test_a_block_is_brought_by_deltas_of_one_kind() -> None:
    both = {"type": "of_next_year", "text": "", "thinking": ""}
    odd = delta(0, "thinking_delta", thinking="b")
    answer = answered(*around(start(0, both), delta(0, "text_delta", text="a"), odd, stop(0)))
    assert blocks(answer) == [{**both, "text": "a"}]
    assert [anomaly.raw for anomaly in answer.anomalies] == [write(odd)]


def test_a_second_start_of_the_same_message_is_passed_over() -> None:
    first, *rest = stream_events(message(text()))
    answer = answered(first, first, *rest)
    assert blocks(answer) == [text()]
    assert answer.is_complete
    assert answer.needs_raw


def test_a_start_of_another_message_ends_what_can_be_known_of_the_first() -> None:
    first, *_ = stream_events(message())
    begun = list(block_events(0, text("First.")))
    half = [start(1, call()), delta(1, "input_json_delta", partial_json='{"a": "b')]
    second = list(stream_events({**message(call(2, z=1)), "id": "msg_02Other"}))
    stream = fed(*map(event, [first, *begun, *half]))
    assert stream.feed(b"".join(map(event, second)))
    answer = stream.finish()
    assert blocks(answer) == [text("First.")]
    assert answer.unfinished == (Unfinished(index=1, value=call(), partial='{"a": "b'),)
    assert answer.text("id") == "msg_01Test"
    assert answer.interruption == "malformed"
    assert answer.detail == "a message_start of another message"


def test_an_unknown_delta_leaves_its_block_and_keeps_its_own_bytes() -> None:
    unknown = delta(0, "tone_delta", tone="warm")
    answer = answered(
        *around(start(0, text("a")), unknown, delta(0, "text_delta", text="b"), stop(0))
    )
    assert blocks(answer) == [text("ab")]
    assert answer.is_complete
    assert [anomaly.raw for anomaly in answer.anomalies] == [write(unknown)]


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "queue_position", "position": 3},
        delta(7, "text_delta", text="nobody's"),
        stop(7),
        {"type": "content_block_delta", "index": True, "delta": {"type": "text_delta"}},
        {"type": "content_block_delta", "index": 0, "delta": None},
        delta(0, "text_delta", text=None),
        delta(0, "thinking_delta", thinking="in a text"),
        delta(0, "input_json_delta", partial_json="in a text"),
        delta(0, "signature_delta", signature="in a text"),
        delta(0, "compaction_delta", content="in a text"),
        delta(0, "citations_delta"),
        {"type": "content_block_delta", "index": 0, "delta": {}},
        start(0, text("")),
    ],
)
def test_what_fits_nowhere_is_kept_as_bytes_and_changes_nothing(odd: JsonObject) -> None:
    answer = answered(*around(start(0, text("")), odd, delta(0, "text_delta", text="b"), stop(0)))
    assert blocks(answer) == [text("b")]
    assert answer.is_complete
    assert [anomaly.raw for anomaly in answer.anomalies] == [write(odd)]


def test_an_index_that_nobody_used_is_told() -> None:
    answer = answered(*around(start(1, text()), stop(1)))
    assert answer.blocks == (AnswerBlock(1, text()),)
    assert [anomaly.what for anomaly in answer.anomalies] == ["no block at index 0"]


def test_blocks_that_arrive_side_by_side_stand_in_the_order_of_their_indexes() -> None:
    parts = [
        start(1, text("")),
        start(0, text("")),
        delta(1, "text_delta", text="b"),
        delta(0, "text_delta", text="a"),
        stop(1),
        stop(0),
    ]
    assert blocks(answered(*around(*parts))) == [text("a"), text("b")]


def test_a_message_that_stops_with_an_open_block_is_not_whole() -> None:
    answer = answered(*around(start(0, text("")), delta(0, "text_delta", text="Half")))
    assert answer.interruption == "malformed"
    assert answer.unfinished == (Unfinished(index=0, value=text(""), partial="Half"),)


def test_events_before_any_message_start_are_not_understood() -> None:
    assert answered(start(0, text())).interruption == "malformed"
    assert answered({"type": "message_stop"}).interruption == "malformed"


def test_what_comes_after_the_last_event_is_told() -> None:
    answer = answered(*stream_events(message(text())), {"type": "ping"}, start(1, text()))
    assert answer.is_complete
    assert len(answer.anomalies) == 2


def test_what_cannot_be_read_after_the_last_event_takes_nothing_back() -> None:
    answer = fed(spelled(message(text())), b"data: [DONE]\n\n").finish()
    assert answer.is_complete
    assert [anomaly.raw for anomaly in answer.anomalies] == [b"[DONE]"]


def test_the_first_thing_that_was_not_understood_is_told() -> None:
    first, *_ = stream_events(message())
    stream = fed(event(first), event({**first, "message": None}), b"data: {\n\n")
    assert stream.finish().detail == "a message_start without a message"


def test_the_caller_says_why_the_bytes_ended() -> None:
    half = spelled(message(text()))[:-30]
    assert fed(half).finish().interruption == "cut"
    assert fed(half).finish("abandoned").interruption == "abandoned"
    assert fed(half).finish("malformed", "gzip").detail == "gzip"
    assert fed(half, spelled(message(text()))[-30:]).finish("abandoned").is_complete


def test_the_halves_of_a_character_in_two_deltas_are_joined() -> None:
    parts = [delta(0, "text_delta", text=half) for half in ("\ud83d", "\ude00", "\ud83d")]
    answer = answered(*around(start(0, text("")), *parts, stop(0)))
    assert blocks(answer) == [text("\N{GRINNING FACE}\ud83d")]


@pytest.mark.parametrize("kind", ["x" * 10_000, {"said": "x" * 10_000}, None, 7])
def test_what_an_anomaly_is_called_is_short_and_tells_no_content(kind: object) -> None:
    odd = [{"type": kind}, {**delta(0, "?"), "delta": {"type": kind}}]
    answer = answered(*around(start(0, text("")), *odd, stop(0)))
    assert [len(anomaly.what) < 100 for anomaly in answer.anomalies] == [True, True]
