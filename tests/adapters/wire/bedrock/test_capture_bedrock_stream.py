"""Streams of Bedrock's Converse API, event by event: what each adds, and what is odd about it."""

import json

import pytest

from onrecord.adapters.wire.bedrock.stream import ConverseStream, read_body
from tests.adapters.wire.bedrock.bedrock_streams import (
    METADATA,
    START,
    answered,
    blocks,
    delta,
    fed,
    odd,
    read,
    start,
    stop,
    stopped,
)
from tests.bedrock_wire import (
    METRICS,
    USAGE,
    JsonObject,
    body,
    call,
    error,
    events,
    exception,
    spelled,
    text,
)

TOOL = {"toolUse": {"toolUseId": "tooluse_1", "name": "look"}}


class TestBlocks:
    def test_text_needs_no_start(self) -> None:
        answer = read(delta(0, text="Hel"), delta(0, text="lo."), stop(0))
        assert blocks(answer) == [{"text": "Hello."}]

    def test_text_may_begin_with_a_start_that_says_nothing(self) -> None:
        assert blocks(read(start(0, {}), delta(0, text="Hi"), stop(0))) == [{"text": "Hi"}]

    def test_an_empty_text_is_a_block(self) -> None:
        assert blocks(read(delta(0, text=""), stop(0))) == [{"text": ""}]

    def test_citations_make_text_a_block_of_cited_text(self) -> None:
        first = {"title": "Report", "location": {"documentPage": {"documentIndex": 0}}}
        answer = read(
            delta(0, text="It is "), delta(0, citation=first), delta(0, text="so."), stop(0)
        )
        assert blocks(answer) == [
            {"citationsContent": {"content": [{"text": "It is so."}], "citations": [first]}}
        ]

    def test_the_input_of_a_call_is_joined_and_read(self) -> None:
        pieces = [delta(0, toolUse={"input": part}) for part in ('{"ci', 'ty":"Os', 'lo"}')]
        answer = read(start(0, TOOL), *pieces, stop(0), stop_reason="tool_use")
        assert blocks(answer) == [call(1, city="Oslo")]
        assert answer.awaits_results

    @pytest.mark.parametrize("pieces", [[], [""], ["", " "]])
    def test_a_call_without_input_has_an_empty_one(self, pieces: list[str]) -> None:
        told = [delta(0, toolUse={"input": piece}) for piece in pieces]
        answer = read(start(0, TOOL), *told, stop(0), stop_reason="tool_use")
        assert blocks(answer) == [call(1)]

    def test_reasoning_is_joined_and_signed(self) -> None:
        told = [{"text": "Let me "}, {"text": "see."}, {"text": ""}, {"signature": "c2ln"}]
        answer = read(*(delta(0, reasoningContent=one) for one in told), stop(0))
        reasoned = {"text": "Let me see.", "signature": "c2ln"}
        assert blocks(answer) == [{"reasoningContent": {"reasoningText": reasoned}}]

    def test_unsigned_reasoning_has_no_signature(self) -> None:
        answer = read(delta(0, reasoningContent={"text": "Hm."}), stop(0))
        assert blocks(answer) == [{"reasoningContent": {"reasoningText": {"text": "Hm."}}}]

    def test_a_second_signature_replaces_the_first_and_is_noted(self) -> None:
        told = [{"text": "Hm."}, {"signature": "b25l"}, {"signature": "dHdv"}]
        answer = read(*(delta(0, reasoningContent=one) for one in told), stop(0))
        reasoned = {"text": "Hm.", "signature": "dHdv"}
        assert blocks(answer) == [{"reasoningContent": {"reasoningText": reasoned}}]
        assert odd(answer) == ["a second signature of a block"]

    def test_encrypted_reasoning_is_kept_as_it_came(self) -> None:
        answer = read(delta(0, reasoningContent={"redactedContent": "c2VjcmV0"}), stop(0))
        assert blocks(answer) == [{"reasoningContent": {"redactedContent": "c2VjcmV0"}}]

    def test_binary_data_in_pieces_is_joined_as_bytes(self) -> None:
        told = [{"redactedContent": "YQ=="}, {"redactedContent": "YmM="}]
        answer = read(*(delta(0, reasoningContent=one) for one in told), stop(0))
        assert blocks(answer) == [{"reasoningContent": {"redactedContent": "YWJj"}}]

    def test_what_a_tool_gave_is_put_together_of_its_parts(self) -> None:
        opened = {"toolUseId": "t", "type": "nova_grounding_result", "status": "success"}
        told = [[{"text": "It "}], [{"text": "rains."}, {"json": {"a": 1}}], [{"json": {"b": 2}}]]
        parts = [delta(0, toolResult=one) for one in told]
        answer = read(start(0, {"toolResult": opened}), *parts, stop(0))
        content = [{"text": "It rains."}, {"json": {"a": 1}}, {"json": {"b": 2}}]
        assert blocks(answer) == [{"toolResult": {**opened, "content": content}}]

    def test_a_picture_is_joined_of_its_bytes(self) -> None:
        told = [{"source": {"bytes": "YQ=="}}, {"source": {"bytes": "Yg=="}}]
        answer = read(
            start(0, {"image": {"format": "png"}}), *(delta(0, image=one) for one in told), stop(0)
        )
        assert blocks(answer) == [{"image": {"format": "png", "source": {"bytes": "YWI="}}}]

    def test_a_picture_may_say_that_it_failed(self) -> None:
        told = {"error": {"message": "No."}}
        answer = read(start(0, {"image": {"format": "png"}}), delta(0, image=told), stop(0))
        assert blocks(answer) == [{"image": {"format": "png", "error": {"message": "No."}}}]

    def test_blocks_may_take_turns(self) -> None:
        answer = read(
            start(1, TOOL),
            delta(0, text="I "),
            delta(1, toolUse={"input": "{}"}),
            delta(0, text="look."),
            stop(1),
            stop(0),
            stop_reason="tool_use",
        )
        assert blocks(answer) == [text("I look."), call(1)]

    def test_text_that_nothing_stopped_is_whole_once_the_message_stopped(self) -> None:
        answer = read(delta(0, text="Hello."))
        assert blocks(answer) == [text()]
        assert answer.is_complete

    def test_a_character_in_two_pieces_is_whole(self) -> None:
        answer = read(delta(0, text="\ud83d"), delta(0, text="\ude00"), stop(0))
        assert blocks(answer) == [{"text": "\N{GRINNING FACE}"}]


class TestEnvelope:
    def test_it_is_the_one_of_the_answer_that_is_not_streamed(self) -> None:
        fields: JsonObject = {"additionalModelResponseFields": {"delta": {"stop_sequence": None}}}
        trace: JsonObject = {"trace": {"guardrail": {"actionReason": "No action."}}}
        told = {**stopped()["messageStop"], **fields}
        answer = answered(
            START,
            {"messageStop": told},
            {"metadata": {"usage": USAGE, "metrics": METRICS, **trace}},
        )
        assert answer.envelope == read_body(json.dumps(body(**fields, **trace)).encode()).envelope

    def test_padding_is_left_out(self) -> None:
        assert b'"p"' in spelled(body(text()))
        answer = fed(spelled(body(text()))).finish()
        assert answer.envelope == read_body(json.dumps(body()).encode()).envelope

    def test_tokens_from_a_cache_and_into_it_count_as_read(self) -> None:
        usage = {**USAGE, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 1000}
        answer = answered(START, stopped(), {"metadata": {"usage": usage, "metrics": METRICS}})
        assert (answer.input_tokens, answer.output_tokens) == (1111, 22)

    @pytest.mark.parametrize("usage", [{}, {"inputTokens": -1}, {"inputTokens": 1.5}, [], None])
    def test_counts_that_are_none_are_not_known(self, usage: object) -> None:
        answer = answered(START, stopped(), {"metadata": {"usage": usage}})
        assert (answer.input_tokens, answer.output_tokens) == (None, None)

    def test_a_member_that_nobody_knows_is_kept(self) -> None:
        answer = answered(START, stopped(), {"metadata": {"usage": USAGE, "weather": "rain"}})
        assert answer.envelope["weather"] == "rain"
        assert not answer.needs_raw


class TestEnd:
    def test_it_is_over_with_its_metadata(self) -> None:
        stream = ConverseStream()
        assert not stream.feed(events(START, delta(0, text="Hi"), stop(0), stopped()))
        assert stream.feed(events(METADATA))
        assert stream.feed(b"")

    def test_metadata_may_come_first(self) -> None:
        stream = ConverseStream()
        assert not stream.feed(events(START, METADATA))
        assert stream.feed(events(stopped()))

    def test_without_metadata_it_is_whole_all_the_same(self) -> None:
        answer = answered(START, delta(0, text="Hi"), stop(0), stopped())
        assert answer.is_complete
        assert not answer.needs_raw

    def test_without_a_stop_it_is_cut(self) -> None:
        answer = answered(START, delta(0, text="Hi"))
        assert (answer.interruption, answer.stop_reason) == ("cut", None)
        assert [(one.value, one.partial) for one in answer.unfinished] == [({"text": ""}, "Hi")]

    def test_what_is_left_of_a_frame_is_told(self) -> None:
        answer = fed(events(START), events(stopped())[:-7]).finish("abandoned")
        assert answer.interruption == "abandoned"
        assert answer.detail is not None
        assert answer.detail.startswith("the last frame broke off after ")

    @pytest.mark.parametrize("reason", ["tool_use", "end_turn", "stop_sequence"])
    def test_results_are_awaited_of_calls_that_a_turn_ended_with(self, reason: str) -> None:
        assert fed(spelled(body(call(), stop=reason))).finish().awaits_results

    @pytest.mark.parametrize(
        "reason",
        [
            *("max_tokens", "model_context_window_exceeded", "guardrail_intervened"),
            *("content_filtered", "malformed_tool_use", "malformed_model_output", "pause_turn"),
        ],
    )
    def test_results_are_not_awaited_where_a_turn_broke(self, reason: str) -> None:
        answer = fed(spelled(body(call(), stop=reason))).finish()
        assert (answer.is_complete, answer.stop_reason) == (True, reason)
        assert not answer.awaits_results

    @pytest.mark.parametrize("ends", [[], [stop(0)]])
    def test_a_call_amid_which_the_limit_was_reached_is_unfinished(
        self, ends: list[JsonObject]
    ) -> None:
        told = [start(0, TOOL), delta(0, toolUse={"input": '{"ci'}), *ends]
        answer = read(*told, stop_reason="max_tokens")
        assert (answer.is_complete, answer.blocks) == (True, ())
        assert [(one.value, one.partial) for one in answer.unfinished] == [(TOOL, '{"ci')]

    def test_a_call_that_is_not_whole_at_the_end_of_a_turn_is_malformed(self) -> None:
        told = [start(0, TOOL), delta(0, toolUse={"input": '{"ci'}), stop(0)]
        answer = read(*told, stop_reason="tool_use")
        assert answer.interruption == "malformed"
        assert answer.detail == "stopped (tool_use) with a block that is not whole"
        assert not answer.awaits_results

    @pytest.mark.parametrize(
        "kind", ["throttlingException", "modelStreamErrorException", "somethingException"]
    )
    def test_an_exception_ends_it_as_an_error(self, kind: str) -> None:
        stream = fed(events(START, delta(0, text="Hi")))
        assert stream.feed(exception(kind, "Too many."))
        answer = stream.finish()
        assert (answer.interruption, answer.detail) == ("error", kind)
        assert answer.error == {"type": kind, "message": "Too many."}
        assert [one.partial for one in answer.unfinished] == ["Hi"]

    def test_an_unmodelled_error_ends_it_as_an_error(self) -> None:
        answer = fed(events(START), error("InternalFailure", "Oops.")).finish()
        assert answer.error == {"type": "InternalFailure", "message": "Oops."}


class TestBody:
    def test_its_blocks_are_as_they_came(self) -> None:
        whole = body({"type": "text", "text": "Hi"}, call(1, x=2**70), stop="tool_use")
        answer = read_body(json.dumps(whole).encode())
        assert blocks(answer) == whole["output"]["message"]["content"]
        assert answer.envelope == {
            **whole,
            "output": {"message": {"role": "assistant"}},
        }
        assert answer.awaits_results

    @pytest.mark.parametrize(
        "told",
        [
            {"message": "No."},
            {"Message": "No."},
            {"__type": "ThrottlingException"},
            {"Output": {"__type": "UnknownOperationException"}, "__type": "x"},
        ],
    )
    def test_an_error_under_status_200_is_an_error(self, told: JsonObject) -> None:
        answer = read_body(json.dumps(told).encode())
        assert (answer.interruption, answer.error) == ("error", told)

    def test_the_error_of_a_gateway_is_an_error(self) -> None:
        answer = read_body(b'{"error": {"type": "overloaded", "message": "No."}}')
        assert (answer.interruption, answer.detail) == ("error", "overloaded")
        assert answer.error == {"type": "overloaded", "message": "No."}

    @pytest.mark.parametrize("data", [b"", b"<html>", b'{"output": {"mess', b"[]"])
    def test_what_is_no_object_is_not_whole(self, data: bytes) -> None:
        assert read_body(data, "cut").interruption == "cut"

    @pytest.mark.parametrize("told", [{}, {"output": {}}, {"output": {"message": {"content": 5}}}])
    def test_an_answer_without_content_is_malformed(self, told: JsonObject) -> None:
        answer = read_body(json.dumps(told).encode())
        assert answer.interruption == "malformed"
        assert answer.envelope == told or "content" not in answer.envelope["output"]["message"]

    def test_content_that_is_no_block_is_malformed(self) -> None:
        whole = body(text("Hi"))
        whole["output"]["message"]["content"].append("Ho")
        answer = read_body(json.dumps(whole).encode())
        assert blocks(answer) == [text("Hi")]
        assert (answer.interruption, answer.detail) == ("malformed", "1 of the content is no block")

    def test_an_answer_without_a_stop_reason_is_noted(self) -> None:
        whole = {name: value for name, value in body(text()).items() if name != "stopReason"}
        assert odd(read_body(json.dumps(whole).encode())) == ["an answer without a stop reason"]
