"""Streams of Chat Completions: what stands around the deltas, and each way to end."""

from typing import Any

import pytest

from onrecord.adapters.wire.openai_chat.stream import CompletionStream
from tests.adapters.wire.openai_chat.openai_chat_streams import (
    ROLE,
    answered,
    blocks,
    fed,
    odd,
    read,
    told,
)
from tests.openai_chat_wire import DONE, HEAD, JsonObject, call, chunk, event, spelled


class TestEnvelope:
    def test_it_is_the_chunks_without_what_was_said(self) -> None:
        usage = {"prompt_tokens": 3, "completion_tokens": 4}
        answer = answered(
            chunk(told("a"), usage=None, obfuscation="x", service_tier="auto"),
            chunk({}, stop="stop", usage=None, obfuscation="yy"),
            {**HEAD, "choices": [], "usage": usage, "obfuscation": ""},
        )
        assert answer.envelope == {
            **HEAD,
            "usage": usage,
            "service_tier": "auto",
            "choices": [{"index": 0, "finish_reason": "stop"}],
        }
        assert (answer.input_tokens, answer.output_tokens) == (3, 4)

    def test_blank_members_of_a_first_chunk_are_filled_in(self) -> None:
        filtered = {"id": "", "model": "", "created": 0, "object": "", "prompt_filter_results": [1]}
        answer = answered({**filtered, "choices": []}, chunk(told("a"), stop="stop"))
        assert {name: answer.envelope[name] for name in HEAD} == HEAD
        assert answer.envelope["prompt_filter_results"] == [1]
        assert odd(answer) == []

    def test_members_that_change_are_noted_once(self) -> None:
        answer = answered(*({**chunk(told("a"), stop="stop"), "id": f"c{n}"} for n in range(5)))
        assert odd(answer) == ["more than one value of id"]

    def test_a_time_may_change(self) -> None:
        answer = answered(*({**chunk(told("a"), stop="stop"), "created": n} for n in range(5)))
        assert (answer.envelope["created"], odd(answer)) == (4, [])

    def test_log_probabilities_grow(self) -> None:
        def likely(token: str) -> JsonObject:
            made = chunk({"content": token}, stop="stop")
            made["choices"][0]["logprobs"] = {"content": [{"token": token}], "refusal": None}
            return made

        (choice,) = answered(likely("a"), likely("b")).envelope["choices"]
        assert choice["logprobs"] == {"content": [{"token": "a"}, {"token": "b"}], "refusal": None}

    def test_tokens_are_found_where_groq_has_them(self) -> None:
        usage = {"prompt_tokens": 3, "completion_tokens": 4}
        answer = answered(
            chunk(told("a"), x_groq={"id": "req_1"}),
            chunk({}, stop="stop", x_groq={"id": "req_1", "usage": usage}),
        )
        assert (answer.input_tokens, answer.output_tokens) == (3, 4)

    @pytest.mark.parametrize("count", [-1, 1.5, True, "three", None])
    def test_what_can_be_no_count_is_none(self, count: Any) -> None:
        answer = answered(chunk(told("a"), stop="stop", usage={"prompt_tokens": count}))
        assert (answer.input_tokens, answer.output_tokens) == (None, None)


class TestChoices:
    def test_further_choices_are_alternatives(self) -> None:
        answer = fed(
            event(chunk(told("a"), index=1)),
            event(chunk(told("b"), index=0)),
            event(chunk({"content": "A"}, index=1, stop="length")),
            event(chunk({"content": "B"}, index=0, stop="stop")),
            DONE,
        ).finish()
        (other,) = answer.alternatives
        assert (blocks(answer), answer.stop_reason) == ([told("bB")], "stop")
        assert (blocks(other), other.stop_reason) == ([told("aA")], "length")
        assert [choice["index"] for choice in answer.envelope["choices"]] == [0, 1]
        assert other.envelope == {}

    def test_a_choice_without_an_index_is_at_its_place(self) -> None:
        data = chunk(told("a"), stop="stop")
        del data["choices"][0]["index"]
        assert blocks(answered(data)) == [told("a")]

    def test_a_message_in_place_of_deltas_is_taken_for_one(self) -> None:
        choice = {"index": 0, "message": told("a"), "finish_reason": "stop"}
        assert blocks(answered({**HEAD, "choices": [choice]})) == [told("a")]


class TestEnd:
    def test_done_is_the_last_event(self) -> None:
        stream = CompletionStream()
        assert not stream.feed(spelled(ROLE, done=False))
        assert stream.feed(DONE)
        assert stream.feed(b"")

    def test_a_stream_may_end_without_done_if_it_said_why_it_stopped(self) -> None:
        assert fed(spelled(told("a"), done=False)).finish().is_complete

    def test_a_stream_that_breaks_off_is_cut_and_nothing_of_it_is_whole(self) -> None:
        begun = {"index": 0, **call(1, arguments='{"a"')}
        answer = fed(
            spelled(told("a", reasoning="b"), {"tool_calls": [begun]}, stop=None, done=False)
        )
        cut = answer.finish()
        assert (cut.interruption, cut.blocks, cut.awaits_results) == ("cut", (), False)
        assert [(part.index, part.value, part.partial) for part in cut.unfinished] == [
            (0, {"reasoning": "b"}, ""),
            (1, told("a"), ""),
            (2, call(1, arguments='{"a"'), ""),
        ]

    def test_a_choice_that_stopped_before_the_cut_is_whole(self) -> None:
        answer = answered(chunk(told("a"), stop="stop"), chunk(told("b"), index=1))
        (other,) = answer.alternatives
        assert (answer.interruption, blocks(answer), answer.unfinished) == ("cut", [told("a")], ())
        assert (other.interruption, other.blocks, len(other.unfinished)) == ("cut", (), 1)

    def test_an_event_that_broke_off_after_the_end_is_kept(self) -> None:
        answer = fed(spelled(told("a"), done=False), b'data: {"usage": {').finish()
        assert answer.is_complete
        assert [anomaly.raw for anomaly in answer.anomalies] == [b'data: {"usage": {']

    def test_the_caller_may_leave(self) -> None:
        stream = fed(event(chunk(told("a"))))
        assert stream.finish("abandoned").interruption == "abandoned"

    def test_done_without_a_reason_to_stop_is_complete_and_odd(self) -> None:
        answer = read(told("a"), {"tool_calls": [call(1)]}, stop=None)
        assert (answer.is_complete, answer.awaits_results) == (True, True)
        assert odd(answer) == ["a choice without a finish reason"]

    def test_done_amid_a_call_is_no_whole_answer(self) -> None:
        answer = read(told("a"), {"tool_calls": [call(1, arguments='{"a"')]}, stop=None)
        assert (answer.interruption, blocks(answer)) == ("malformed", [told("a")])

    def test_done_alone_is_no_answer(self) -> None:
        assert fed(DONE).finish().interruption == "malformed"

    @pytest.mark.parametrize("stop", ["length", "content_filter"])
    def test_a_call_amid_which_it_stopped_is_unfinished_and_none_is_awaited(
        self, stop: str
    ) -> None:
        broken = call(2, arguments='{"a": ')
        answer = read(told("a"), {"tool_calls": [call(1), broken]}, stop=stop)
        assert answer.is_complete
        assert blocks(answer) == [told("a"), call(1)]
        assert [(part.index, part.value) for part in answer.unfinished] == [(2, broken)]
        assert not answer.awaits_results

    def test_arguments_that_are_no_json_are_whole_where_the_model_says_so(self) -> None:
        answer = read({"tool_calls": [call(1, arguments="{'a': 1}")]}, stop="tool_calls")
        assert (answer.is_complete, answer.unfinished) == (True, ())
        assert answer.awaits_results

    def test_what_comes_after_the_end_is_kept_aside(self) -> None:
        late = event(chunk(told("late")))
        answer = fed(spelled(told("a")), late).finish()
        assert (blocks(answer), odd(answer)) == ([told("a")], ["an event after the last one"])


ERROR = {"message": "Overloaded", "type": "server_error", "code": 529}


class TestErrors:
    @pytest.mark.parametrize(
        "data",
        [
            event({"error": ERROR}),
            b"event: error\n" + event({"error": ERROR}),
            b"event: error\n" + event(ERROR),
            event({"object": "error", **ERROR}),
            event(chunk({"content": ""}, error=ERROR)),
        ],
        ids=["alone", "named", "an event", "an object", "with choices"],
    )
    def test_an_error_amid_the_stream_ends_it(self, data: bytes) -> None:
        stream = CompletionStream()
        assert not stream.feed(event(chunk(told("a"))))
        assert stream.feed(data)
        answer = stream.finish()
        assert (answer.interruption, answer.detail) == ("error", "server_error")
        assert answer.error["message"] == "Overloaded"
        assert [part.value for part in answer.unfinished] == [told("a")]

    def test_an_error_after_the_reason_to_stop_leaves_what_was_whole(self) -> None:
        answer = fed(event(chunk(told("a"), stop="length")), event({"error": ERROR})).finish()
        assert (answer.interruption, blocks(answer)) == ("error", [told("a")])
        assert "error" not in answer.envelope

    def test_a_choice_may_hold_the_error(self) -> None:
        data = chunk(told("a"), stop="error")
        data["choices"][0]["error"] = ERROR
        answer = fed(event(data), DONE).finish()
        assert (answer.interruption, answer.error) == ("error", ERROR)

    def test_an_error_that_is_null_is_none(self) -> None:
        answer = answered(chunk(told("a"), stop="stop", error=None))
        assert (answer.is_complete, answer.envelope["error"]) == (True, None)

    @pytest.mark.parametrize(
        ("data", "why"),
        [
            (b"data: {broken\n\n", "an event cannot be read"),
            (b"data: [1]\n\n", "an event cannot be read"),
            (b"data: \xff\n\n", "an event cannot be read"),
        ],
    )
    def test_what_cannot_be_read_ends_the_reading_and_is_kept(self, data: bytes, why: str) -> None:
        stream = fed(event(chunk(told("a"))), data, event(chunk({"content": "b"}, stop="stop")))
        assert stream.feed(DONE)
        answer = stream.finish()
        assert (answer.interruption, str(answer.detail).partition(":")[0]) == ("malformed", why)
        assert answer.anomalies[0].raw == data.removeprefix(b"data: ").strip()
        assert [part.value for part in answer.unfinished] == [told("a")]

    @pytest.mark.parametrize(
        ("data", "what"),
        [
            ({**HEAD}, "an event without choices"),
            ({**HEAD, "choices": {}}, "choices that are no list"),
            ({**HEAD, "choices": [7]}, "a choice that is no object"),
            ({**HEAD, "choices": [{"index": 0, "delta": "x"}]}, "more than one value of delta"),
            (chunk({"tool_calls": {}}), "more than one value of tool_calls"),
            (chunk({"tool_calls": [7]}), "more than one value of tool_calls"),
            (chunk({"content": 7}), "more than one value of content"),
            (chunk({"content": {"a": 1}}), "more than one value of content"),
            (chunk({"role": "user"}), "more than one value of role"),
        ],
    )
    def test_what_is_not_as_the_api_says_is_noted(self, data: JsonObject, what: str) -> None:
        answer = answered(chunk(told("a")), data, chunk({}, stop="stop"))
        assert what in odd(answer)
        assert answer.needs_raw
