"""Requests to Gemini: what they ask, and what their contents say as events."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any
from uuid import UUID

import pytest

from onrecord.adapters.wire.gemini.wire import read_request, request_events
from onrecord.adapters.wire.requests import WireRequest
from onrecord.domain.blobs import restore
from onrecord.domain.content import Native, Text
from onrecord.domain.errors import InvalidContent, MalformedJson
from onrecord.domain.events import (
    MessageRecorded,
    ReasoningRecorded,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
    ToolResultRecorded,
)
from tests.adapters.wire.gemini.gemini_streams import body, events
from tests.gemini_wire import (
    PATH,
    SIGNATURE,
    STREAM_PATH,
    JsonObject,
    call,
    model,
    request,
    result,
    signed,
    text,
    thought,
    user,
)
from tests.gemini_wire import said as answered

LINE = UUID(int=7)
HELLO = user(text("Hello"))


def sent(*contents: Any, path: str = PATH, **more: Any) -> WireRequest:
    return read_request(json.dumps(request(*contents, **more)).encode(), path)


def ids() -> Iterator[UUID]:
    return (UUID(int=number) for number in count(1))


def told(*contents: Any) -> list[Any]:
    asked = sent(*contents)
    return list(request_events(asked, asked.pieces, ids())[0])


def pieces(*contents: Any) -> list[tuple[int, str, JsonObject]]:
    return [(piece.message, piece.role, piece.block) for piece in sent(*contents).pieces]


class TestAsked:
    def test_its_members_are_read(self) -> None:
        asked = sent(HELLO, path=STREAM_PATH)
        assert (asked.api, asked.model) == ("gemini", "gemini-3-flash-preview")
        assert (asked.system, asked.tools, asked.messages) == (None, None, (HELLO,))
        assert asked.body["contents"] == [HELLO]

    @pytest.mark.parametrize(
        ("path", "named"),
        [
            ("/v1beta/models/gemini-2.5-pro:generateContent", "gemini-2.5-pro"),
            ("/v1beta/tunedModels/mine:generateContent", "tunedModels/mine"),
            ("/v1/projects/p/locations/l/endpoints/42:generateContent", "endpoints/42"),
            ("/v1/publishers/google/models/gemini-2.5-pro:streamGenerateContent", "gemini-2.5-pro"),
            ("/gateway/v1beta/models/a@001:generateContent", "a@001"),
            ("", None),
        ],
    )
    def test_the_model_stands_in_the_path(self, path: str, named: str | None) -> None:
        assert sent(HELLO, path=path).model == named

    def test_a_model_in_the_body_is_one_where_the_path_has_none(self) -> None:
        assert sent(HELLO, path="", model="models/gemini-2.5-pro").model == "gemini-2.5-pro"

    @pytest.mark.parametrize("spelled", ["not json", "[]", "7"])
    def test_what_is_no_json_object_is_malformed(self, spelled: str) -> None:
        with pytest.raises(MalformedJson):
            read_request(spelled.encode(), PATH)

    @pytest.mark.parametrize(
        "contents",
        [None, 7, "Hello", ["Hello"], [{"parts": ["a"]}], [{"role": 7, "parts": []}], [{}]],
    )
    def test_what_is_no_list_of_contents_is_refused(self, contents: Any) -> None:
        with pytest.raises(InvalidContent):
            read_request(json.dumps({"contents": contents}).encode(), PATH)

    def test_a_single_content_and_a_single_part_are_lists_of_one(self) -> None:
        asked = read_request(json.dumps({"contents": {"parts": text("Hello")}}).encode(), PATH)
        assert [piece.block for piece in asked.pieces] == [text("Hello")]
        assert [piece.role for piece in asked.pieces] == ["user"]


class TestSaid:
    def test_a_text_alone_is_plain_and_all_else_stays_native(self) -> None:
        image = {"inlineData": {"mimeType": "image/png", "data": "iVBO"}}
        marked = text("b", partMetadata={"x": 1})
        (event,) = told(user(text("a"), image, marked))
        assert event == MessageRecorded(
            role="user",
            content=(
                Text(text="a"),
                Native(api="gemini", value=image),
                Native(api="gemini", value=marked),
            ),
        )

    def test_neighbours_of_the_users_are_messages_of_their_own(self) -> None:
        assert len(told(user(text("a")), user(text("b")))) == 2

    def test_what_the_model_said_is_as_in_an_answer(self) -> None:
        code: JsonObject = {"executableCode": {"language": "PYTHON", "code": "6"}}
        ran: JsonObject = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "6"}}
        parts = [thought("Hm."), signed(text("Look.")), code, ran, signed(call()), call()]
        found = told(HELLO, model(*parts))[1:]
        assert [type(event) for event in found] == [
            ReasoningRecorded,
            MessageRecorded,
            ServerToolCallRecorded,
            ServerToolResultRecorded,
            ToolCallRecorded,
            ToolCallRecorded,
        ]
        assert found == events(body(answered(*parts)))

    def test_snake_case_is_read_alike(self) -> None:
        spelled: JsonObject = {
            "function_call": {"name": "look", "args": {}},
            "thought_signature": SIGNATURE,
        }
        answer: JsonObject = {"function_response": {"name": "look", "response": {}}}
        asked, given = told(model(spelled), user(answer))
        (own,) = events(body(answered(signed(call()))))
        assert (asked.call_id, given.call_id) == (own.call_id, own.call_id)
        assert asked.content.value == spelled

    def test_contents_that_a_chat_kept_chunk_by_chunk_are_one_turn(self) -> None:
        kept = [model(text("Hel")), model(text("lo")), model(call()), model(signed(text("")))]
        found = told(HELLO, *kept)[1:]
        assert {event.response for event in found} == {UUID(int=1)}
        assert [event.index for event in found] == [0, 1, 2]
        assert found[0].content[0].value == text("Hello")

    def test_turns_of_the_models_are_responses_of_their_own(self) -> None:
        found = told(model(text("a")), HELLO, model(text("b")))
        assert [event.response for event in found] == [UUID(int=1), None, UUID(int=2)]

    def test_only_what_is_new_is_said(self) -> None:
        asked = sent(HELLO, model(call()), user(result()))
        events, _ = request_events(asked, asked.pieces[1:], ids(), LINE)
        assert [type(event) for event in events] == [ToolCallRecorded, ToolResultRecorded]
        assert {event.line for event in events} == {LINE}

    def test_long_strings_move_to_blobs(self) -> None:
        image = {"inlineData": {"mimeType": "image/png", "data": "A" * 2_000_000}}
        asked = sent(user(image))
        (event,), blobs = request_events(asked, asked.pieces, ids())
        assert isinstance(event, MessageRecorded)
        (kept,) = event.content
        assert isinstance(kept, Native)
        assert blobs
        assert restore(kept.value, blobs) == image

    @pytest.mark.parametrize("role", [None, "user", "function"])
    def test_what_is_not_the_models_is_the_users(self, role: str | None) -> None:
        named = {"role": role} if role else {}
        assert pieces({"parts": [text("a")], **named}) == [(0, "user", text("a"))]


class TestResults:
    def test_a_result_names_its_call(self) -> None:
        (event,) = told(model(call(id="fc_1")), user(result(id="fc_1")))[1:]
        assert event == ToolResultRecorded(
            call_id="fc_1", content=Native(api="gemini", value=result(id="fc_1"))
        )

    def test_results_without_ids_belong_to_the_calls_of_their_name_in_order(self) -> None:
        calls = [call("a", {"x": 1}), call("b"), call("a", {"x": 2})]
        results = [result("b"), result("a", {"output": 1}), result("a", {"output": 2})]
        found = told(HELLO, model(*calls), user(*results))[1:]
        named = [event.call_id for event in found]
        assert named[3:] == [named[1], named[0], named[2]]

    def test_results_in_contents_of_their_own_belong_to_the_same_turn(self) -> None:
        found = told(model(call("a"), call("b")), user(result("a")), user(result("b")))
        assert [event.call_id for event in found[2:]] == [event.call_id for event in found[:2]]

    def test_the_same_call_in_the_next_turn_has_the_same_id(self) -> None:
        round_of_calls = [model(call()), user(result())]
        found = told(HELLO, *round_of_calls, *round_of_calls)[1:]
        assert len({event.call_id for event in found}) == 1

    def test_a_result_of_no_call_is_said_by_the_user(self) -> None:
        (event,) = told(user(result()))
        assert event.content == (Native(api="gemini", value=result()),)

    def test_texts_beside_results_are_the_users(self) -> None:
        found = told(model(call()), user(result(), text("And now?")))
        assert [type(event) for event in found[1:]] == [ToolResultRecorded, MessageRecorded]
