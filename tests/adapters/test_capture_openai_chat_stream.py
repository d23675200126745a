"""Streams of Chat Completions: each kind of delta, each spelling of it, each way to end."""

from typing import Any

import pytest

from hansard.adapters.capture.openai_chat_stream import CompletionStream
from tests.adapters.openai_chat_streams import answered, blocks, fed, odd, read
from tests.openai_chat_wire import DONE, HEAD, JsonObject, call, chunk, event, spelled

ROLE = {"role": "assistant", "content": ""}


def said(content: Any, **more: Any) -> JsonObject:
    return {"role": "assistant", "content": content, **more}


def calling(index: int | None, *, arguments: str | None = None, **more: Any) -> JsonObject:
    """The delta of one call."""
    at = {} if index is None else {"index": index}
    function = {name: more.pop(name) for name in ("name",) if name in more}
    if arguments is not None:
        function["arguments"] = arguments
    return {"tool_calls": [{**at, **more, **({"function": function} if function else {})}]}


class TestTexts:
    def test_pieces_of_text_are_joined(self) -> None:
        answer = read(ROLE, {"content": "Hel"}, {"content": "lo"})
        assert blocks(answer) == [said("Hello")]
        assert (answer.is_complete, answer.stop_reason, odd(answer)) == (True, "stop", [])

    def test_the_same_piece_twice_is_said_twice(self) -> None:
        assert blocks(read(ROLE, {"content": "ha"}, {"content": "ha"})) == [said("haha")]

    def test_a_role_in_every_delta_is_one_role(self) -> None:
        assert blocks(read(said("a"), said("b"))) == [said("ab")]

    def test_a_null_after_something_says_nothing(self) -> None:
        assert blocks(read(said("a"), {"content": None, "role": None})) == [said("a")]

    def test_a_content_that_was_only_null_stays_null(self) -> None:
        assert blocks(read(said(None)))[0] == said(None)

    def test_halves_of_a_character_become_one(self) -> None:
        answer = read(said("\ud83d"), {"content": "\ude00"})
        assert blocks(answer) == [said("\U0001f600")]

    def test_a_refusal_is_joined(self) -> None:
        answer = read(said(None, refusal="I "), {"refusal": "cannot."})
        assert blocks(answer) == [said(None, refusal="I cannot.")]

    def test_lists_of_parts_then_text_are_one_list(self) -> None:
        def thought(text: str) -> JsonObject:
            return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}

        answer = read(
            ROLE,
            {"content": [thought("Let ")]},
            {"content": [thought("me see")]},
            {"content": "Four"},
            {"content": [{"type": "text", "text": "."}]},
            {"content": ""},
        )
        parts = [thought("Let me see"), {"type": "text", "text": "Four."}]
        assert blocks(answer) == [said(parts)]

    def test_text_then_a_list_is_one_list(self) -> None:
        image = {"type": "image_url", "image_url": {"url": "data:,"}}
        answer = read(said("See"), {"content": [image, image]}, {"content": "!"})
        text = {"type": "text", "text": "See"}
        assert blocks(answer) == [said([text, image, image, {"type": "text", "text": "!"}])]

    def test_a_thought_that_is_closed_is_followed_by_another(self) -> None:
        def thought(text: str, **more: Any) -> JsonObject:
            return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **more}

        answer = read(ROLE, {"content": [thought("a", closed=True)]}, {"content": [thought("b")]})
        assert blocks(answer) == [said([thought("a", closed=True), thought("b")])]

    def test_sound_is_joined(self) -> None:
        answer = read(
            said(None, audio={"id": "audio_1", "transcript": "Hel"}),
            {"audio": {"data": "AAAA", "transcript": "lo"}},
            {"audio": {"data": "BBBB", "expires_at": 9}},
        )
        audio = {"id": "audio_1", "transcript": "Hello", "data": "AAAABBBB", "expires_at": 9}
        assert blocks(answer) == [said(None, audio=audio)]


class TestReasoning:
    @pytest.mark.parametrize("member", ["reasoning_content", "reasoning"])
    def test_what_was_thought_is_a_block_of_its_own(self, member: str) -> None:
        answer = read({**ROLE, member: None}, {member: "Let "}, {member: "me"}, {"content": "4"})
        assert blocks(answer) == [{member: "Let me"}, said("4")]

    def test_a_member_that_says_nothing_stays_in_the_message(self) -> None:
        answer = read(said("4", reasoning=None, reasoning_details=[]))
        assert blocks(answer) == [said("4", reasoning=None, reasoning_details=[])]

    def test_details_go_on_by_their_index_and_keep_it(self) -> None:
        def detail(**members: Any) -> JsonObject:
            return {
                "reasoning_details": [
                    {"type": "reasoning.text", "format": "v1", "index": 0, **members}
                ]
            }

        answer = read(
            {**ROLE, "reasoning_details": []},
            detail(text="", signature=""),
            detail(text="2+2"),
            detail(text=" is 4"),
            detail(signature="c2ln"),
        )
        whole = {
            "type": "reasoning.text",
            "format": "v1",
            "index": 0,
            "text": "2+2 is 4",
            "signature": "c2ln",
        }
        assert blocks(answer)[0] == {"reasoning_details": [whole]}
        assert odd(answer) == []

    def test_details_of_another_type_or_id_are_others(self) -> None:
        summary = {"type": "reasoning.summary", "index": 0, "summary": "Sums."}
        hidden = {"type": "reasoning.encrypted", "index": 0, "id": "rs_1", "data": "abc"}
        other = {**hidden, "id": "rs_2", "data": "def"}
        answer = read(*({"reasoning_details": [one]} for one in (summary, hidden, other)))
        assert blocks(answer)[0] == {"reasoning_details": [summary, hidden, other]}

    def test_a_signature_that_changes_is_noted(self) -> None:
        details = [
            {"reasoning_details": [{"type": "t", "index": 0, "signature": sign}]} for sign in "ab"
        ]
        answer = read(*details)
        assert odd(answer) == ["more than one value of signature"]
        assert answer.needs_raw


class TestLists:
    def test_elements_without_an_index_are_appended(self) -> None:
        cited = [{"type": "url_citation", "url_citation": {"url": f"https://{n}"}} for n in "abc"]
        answer = read(said("a", annotations=cited[:1]), {"annotations": cited[1:]})
        assert blocks(answer) == [said("a", annotations=cited)]

    def test_a_tool_that_the_server_ran_goes_on_by_its_index(self) -> None:
        tool = {"index": 0, "type": "search", "arguments": '{"q": 1}'}
        found = {"results": [{"url": "https://a"}]}
        answer = read(
            {"executed_tools": [{**tool, "search_results": {"results": []}}]},
            {"executed_tools": [{**tool, "output": "found", "search_results": found}]},
        )
        assert blocks(answer) == [
            {"executed_tools": [{**tool, "search_results": found, "output": "found"}]}
        ]

    def test_elements_of_one_delta_are_never_one(self) -> None:
        twins = [{"index": 0, "url": "a"}, {"index": 0, "url": "b"}]
        assert blocks(read(said("", links=twins))) == [said("", links=twins)]


class TestCalls:
    def test_a_call_goes_on_by_its_index(self) -> None:
        answer = read(
            {**ROLE, **calling(0, id="call_1", type="function", name="look", arguments="")},
            calling(0, arguments='{"at":'),
            calling(1, id="call_2", type="function", name="find", arguments=""),
            calling(1, arguments="{}"),
            calling(0, arguments=" 1}"),
            stop="tool_calls",
        )
        assert blocks(answer) == [
            said(""),
            call(1, arguments='{"at": 1}'),
            call(2, "find"),
        ]
        assert answer.awaits_results

    def test_calls_stand_in_the_order_of_their_indexes(self) -> None:
        answer = read(
            calling(2, id="call_2", type="function", name="look", arguments="{}"),
            calling(1, id="call_1", type="function", name="look", arguments="{}"),
        )
        assert blocks(answer)[1:] == [call(1), call(2)]

    def test_an_id_and_a_name_in_every_delta_are_one(self) -> None:
        repeated = {"id": "call_1", "type": "function", "name": "look"}
        answer = read(
            calling(0, arguments="{", **repeated),
            calling(0, arguments="}", **repeated),
            calling(0, arguments="", **repeated),
        )
        assert blocks(answer)[1:] == [call(1)]
        assert odd(answer) == []

    def test_an_id_and_a_name_that_grow_are_one(self) -> None:
        answer = read(
            calling(0, id="call", type="function", name="lo", arguments=""),
            calling(0, id="call_1", name="look", arguments="{}"),
        )
        assert blocks(answer)[1:] == [call(1)]

    def test_blank_ids_and_names_after_the_first_say_nothing(self) -> None:
        answer = read(
            calling(0, id="call_1", type="function", name="look", arguments=""),
            calling(0, id="", name="", arguments="{}"),
        )
        assert blocks(answer)[1:] == [call(1)]

    def test_a_name_in_pieces_is_joined_and_noted(self) -> None:
        answer = read(
            calling(0, id="call_1", type="function", name="lo", arguments=""),
            calling(0, name="ok", arguments="{}"),
        )
        assert blocks(answer)[1:] == [call(1)]
        assert odd(answer) == ["more than one value of name"]

    @pytest.mark.parametrize("index", [0, None])
    def test_calls_of_other_ids_at_one_index_are_others(self, index: int | None) -> None:
        answer = read(
            calling(index, id="call_1", type="function", name="look", arguments='{"at"'),
            calling(index, arguments=":1}"),
            calling(index, id="call_2", type="function", name="look", arguments="{"),
            calling(index, arguments="}"),
            calling(index, id="call_12", type="function", name="find", arguments="{}"),
        )
        assert blocks(answer)[1:] == [
            call(1, arguments='{"at":1}'),
            call(2),
            call(12, "find"),
        ]
        assert odd(answer) == []

    def test_deltas_of_two_calls_at_one_index_are_told_by_their_ids(self) -> None:
        first = {"id": "call_1", "type": "function", "name": "look"}
        second = {"id": "call_2", "type": "function", "name": "find"}
        answer = read(
            calling(0, arguments="{", **first),
            calling(0, arguments="{", **second),
            calling(0, arguments='"a":1}', **first),
            calling(0, arguments="}", **second),
        )
        assert blocks(answer)[1:] == [call(1, arguments='{"a":1}'), call(2, "find")]

    @pytest.mark.parametrize("index", [0, None])
    def test_whole_calls_in_one_delta_are_as_many(self, index: int | None) -> None:
        at = {} if index is None else {"index": index}
        answer = read({"tool_calls": [{**at, **call(1)}, {**at, **call(2)}, {**at, **call(3)}]})
        assert blocks(answer)[1:] == [call(1), call(2), call(3)]

    def test_whole_calls_without_ids_are_as_many_and_opaque(self) -> None:
        nameless = {"function": {"name": "look", "arguments": "{}"}}
        answer = read({"tool_calls": [nameless]}, {"tool_calls": [nameless, nameless]})
        assert blocks(answer)[1:] == [nameless, nameless, nameless]
        assert not answer.awaits_results

    def test_a_whole_call_that_is_repeated_is_one(self) -> None:
        whole = {"index": 0, **call(1, arguments='{"a":1}')}
        answer = read({"tool_calls": [whole]}, {"tool_calls": [whole]})
        assert blocks(answer)[1:] == [call(1, arguments='{"a":1}')]

    def test_a_new_id_in_every_delta_is_noted_and_the_first_stays(self) -> None:
        answer = read(
            calling(0, id="call_1", type="function", name="look", arguments="{"),
            calling(0, id="call_x", arguments="}"),
        )
        assert blocks(answer)[1:] == [call(1)]
        assert odd(answer) == ["more than one value of id"]

    def test_the_input_of_a_custom_tool_is_joined(self) -> None:
        begun = {"index": 0, "id": "call_1", "type": "custom"}
        answer = read(
            {"tool_calls": [{**begun, "custom": {"name": "sh", "input": ""}}]},
            {"tool_calls": [{"index": 0, "custom": {"input": "ls "}}]},
            {"tool_calls": [{"index": 0, "custom": {"input": "-l"}}]},
        )
        custom = {"name": "sh", "input": "ls -l"}
        assert blocks(answer)[1:] == [{"id": "call_1", "type": "custom", "custom": custom}]
        assert answer.awaits_results

    def test_a_call_of_the_old_spelling_is_a_block_of_its_own(self) -> None:
        answer = read(
            said(None, function_call={"name": "look", "arguments": ""}),
            {"function_call": {"arguments": "{}"}},
            stop="function_call",
        )
        old = {"function_call": {"name": "look", "arguments": "{}"}}
        assert blocks(answer) == [said(None), old]

    def test_a_blank_call_of_the_old_spelling_is_none(self) -> None:
        blank = {"name": "", "arguments": ""}
        assert blocks(read(said("a", function_call=blank))) == [said("a", function_call=blank)]


class TestEnvelope:
    def test_it_is_the_chunks_without_what_was_said(self) -> None:
        usage = {"prompt_tokens": 3, "completion_tokens": 4}
        answer = answered(
            chunk(said("a"), usage=None, obfuscation="x", service_tier="auto"),
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
        answer = answered({**filtered, "choices": []}, chunk(said("a"), stop="stop"))
        assert {name: answer.envelope[name] for name in HEAD} == HEAD
        assert answer.envelope["prompt_filter_results"] == [1]
        assert odd(answer) == []

    def test_members_that_change_are_noted_once(self) -> None:
        answer = answered(*({**chunk(said("a"), stop="stop"), "id": f"c{n}"} for n in range(5)))
        assert odd(answer) == ["more than one value of id"]

    def test_a_time_may_change(self) -> None:
        answer = answered(*({**chunk(said("a"), stop="stop"), "created": n} for n in range(5)))
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
            chunk(said("a"), x_groq={"id": "req_1"}),
            chunk({}, stop="stop", x_groq={"id": "req_1", "usage": usage}),
        )
        assert (answer.input_tokens, answer.output_tokens) == (3, 4)

    @pytest.mark.parametrize("count", [-1, 1.5, True, "3", None])
    def test_what_can_be_no_count_is_none(self, count: Any) -> None:
        answer = answered(chunk(said("a"), stop="stop", usage={"prompt_tokens": count}))
        assert (answer.input_tokens, answer.output_tokens) == (None, None)


class TestChoices:
    def test_further_choices_are_alternatives(self) -> None:
        answer = fed(
            event(chunk(said("a"), index=1)),
            event(chunk(said("b"), index=0)),
            event(chunk({"content": "A"}, index=1, stop="length")),
            event(chunk({"content": "B"}, index=0, stop="stop")),
            DONE,
        ).finish()
        (other,) = answer.alternatives
        assert (blocks(answer), answer.stop_reason) == ([said("bB")], "stop")
        assert (blocks(other), other.stop_reason) == ([said("aA")], "length")
        assert [choice["index"] for choice in answer.envelope["choices"]] == [0, 1]
        assert other.envelope == {}

    def test_a_choice_without_an_index_is_at_its_place(self) -> None:
        data = chunk(said("a"), stop="stop")
        del data["choices"][0]["index"]
        assert blocks(answered(data)) == [said("a")]

    def test_a_message_in_place_of_deltas_is_taken_for_one(self) -> None:
        choice = {"index": 0, "message": said("a"), "finish_reason": "stop"}
        assert blocks(answered({**HEAD, "choices": [choice]})) == [said("a")]


class TestEnd:
    def test_done_is_the_last_event(self) -> None:
        stream = CompletionStream()
        assert not stream.feed(spelled(ROLE, done=False))
        assert stream.feed(DONE)
        assert stream.feed(b"")

    def test_a_stream_may_end_without_done_if_it_said_why_it_stopped(self) -> None:
        assert fed(spelled(said("a"), done=False)).finish().is_complete

    def test_a_stream_that_breaks_off_is_cut_and_nothing_of_it_is_whole(self) -> None:
        begun = {"index": 0, **call(1, arguments='{"a"')}
        answer = fed(
            spelled(said("a", reasoning="b"), {"tool_calls": [begun]}, stop=None, done=False)
        )
        cut = answer.finish()
        assert (cut.interruption, cut.blocks, cut.awaits_results) == ("cut", (), False)
        assert [(part.index, part.value, part.partial) for part in cut.unfinished] == [
            (0, {"reasoning": "b"}, ""),
            (1, said("a"), ""),
            (2, call(1, arguments='{"a"'), ""),
        ]

    def test_a_choice_that_stopped_before_the_cut_is_whole(self) -> None:
        answer = answered(chunk(said("a"), stop="stop"), chunk(said("b"), index=1))
        (other,) = answer.alternatives
        assert (answer.interruption, blocks(answer), answer.unfinished) == ("cut", [said("a")], ())
        assert (other.interruption, other.blocks, len(other.unfinished)) == ("cut", (), 1)

    def test_an_event_that_broke_off_after_the_end_is_kept(self) -> None:
        answer = fed(spelled(said("a"), done=False), b'data: {"usage": {').finish()
        assert answer.is_complete
        assert [anomaly.raw for anomaly in answer.anomalies] == [b'data: {"usage": {']

    def test_the_caller_may_leave(self) -> None:
        stream = fed(event(chunk(said("a"))))
        assert stream.finish("abandoned").interruption == "abandoned"

    def test_done_without_a_reason_to_stop_is_complete_and_odd(self) -> None:
        answer = read(said("a"), {"tool_calls": [call(1)]}, stop=None)
        assert (answer.is_complete, answer.awaits_results) == (True, True)
        assert odd(answer) == ["a choice without a finish reason"]

    def test_done_amid_a_call_is_no_whole_answer(self) -> None:
        answer = read(said("a"), {"tool_calls": [call(1, arguments='{"a"')]}, stop=None)
        assert (answer.interruption, blocks(answer)) == ("malformed", [said("a")])

    def test_done_alone_is_no_answer(self) -> None:
        assert fed(DONE).finish().interruption == "malformed"

    @pytest.mark.parametrize("stop", ["length", "content_filter"])
    def test_a_call_amid_which_it_stopped_is_unfinished_and_none_is_awaited(
        self, stop: str
    ) -> None:
        broken = call(2, arguments='{"a": ')
        answer = read(said("a"), {"tool_calls": [call(1), broken]}, stop=stop)
        assert answer.is_complete
        assert blocks(answer) == [said("a"), call(1)]
        assert [(part.index, part.value) for part in answer.unfinished] == [(2, broken)]
        assert not answer.awaits_results

    def test_arguments_that_are_no_json_are_whole_where_the_model_says_so(self) -> None:
        answer = read({"tool_calls": [call(1, arguments="{'a': 1}")]}, stop="tool_calls")
        assert (answer.is_complete, answer.unfinished) == (True, ())
        assert answer.awaits_results

    def test_what_comes_after_the_end_is_kept_aside(self) -> None:
        late = event(chunk(said("late")))
        answer = fed(spelled(said("a")), late).finish()
        assert (blocks(answer), odd(answer)) == ([said("a")], ["an event after the last one"])


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
        assert not stream.feed(event(chunk(said("a"))))
        assert stream.feed(data)
        answer = stream.finish()
        assert (answer.interruption, answer.detail) == ("error", "server_error")
        assert answer.error["message"] == "Overloaded"
        assert [part.value for part in answer.unfinished] == [said("a")]

    def test_an_error_after_the_reason_to_stop_leaves_what_was_whole(self) -> None:
        answer = fed(event(chunk(said("a"), stop="length")), event({"error": ERROR})).finish()
        assert (answer.interruption, blocks(answer)) == ("error", [said("a")])
        assert "error" not in answer.envelope

    def test_a_choice_may_hold_the_error(self) -> None:
        data = chunk(said("a"), stop="error")
        data["choices"][0]["error"] = ERROR
        answer = fed(event(data), DONE).finish()
        assert (answer.interruption, answer.error) == ("error", ERROR)

    def test_an_error_that_is_null_is_none(self) -> None:
        answer = answered(chunk(said("a"), stop="stop", error=None))
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
        stream = fed(event(chunk(said("a"))), data, event(chunk({"content": "b"}, stop="stop")))
        assert stream.feed(DONE)
        answer = stream.finish()
        assert (answer.interruption, str(answer.detail).partition(":")[0]) == ("malformed", why)
        assert answer.anomalies[0].raw == data.removeprefix(b"data: ").strip()
        assert [part.value for part in answer.unfinished] == [said("a")]

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
        answer = answered(chunk(said("a")), data, chunk({}, stop="stop"))
        assert what in odd(answer)
        assert answer.needs_raw
