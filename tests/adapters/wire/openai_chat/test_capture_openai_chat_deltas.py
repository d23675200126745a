"""Deltas of completions: texts, reasoning and lists, in each spelling that servers have."""

from typing import Any

import pytest

from tests.adapters.wire.openai_chat.openai_chat_streams import ROLE, blocks, odd, read, told
from tests.openai_chat_wire import JsonObject


class TestTexts:
    def test_pieces_of_text_are_joined(self) -> None:
        answer = read(ROLE, {"content": "Hel"}, {"content": "lo"})
        assert blocks(answer) == [told("Hello")]
        assert (answer.is_complete, answer.stop_reason, odd(answer)) == (True, "stop", [])

    def test_the_same_piece_twice_is_said_twice(self) -> None:
        assert blocks(read(ROLE, {"content": "ha"}, {"content": "ha"})) == [told("haha")]

    def test_a_role_in_every_delta_is_one_role(self) -> None:
        assert blocks(read(told("a"), told("b"))) == [told("ab")]

    def test_a_null_after_something_says_nothing(self) -> None:
        assert blocks(read(told("a"), {"content": None, "role": None})) == [told("a")]

    def test_a_content_that_was_only_null_stays_null(self) -> None:
        assert blocks(read(told(None)))[0] == told(None)

    def test_halves_of_a_character_become_one(self) -> None:
        answer = read(told("\ud83d"), {"content": "\ude00"})
        assert blocks(answer) == [told("\U0001f600")]

    def test_a_refusal_is_joined(self) -> None:
        answer = read(told(None, refusal="I "), {"refusal": "cannot."})
        assert blocks(answer) == [told(None, refusal="I cannot.")]

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
        assert blocks(answer) == [told(parts)]

    def test_text_then_a_list_is_one_list(self) -> None:
        image = {"type": "image_url", "image_url": {"url": "data:,"}}
        answer = read(told("See"), {"content": [image, image]}, {"content": "!"})
        text = {"type": "text", "text": "See"}
        assert blocks(answer) == [told([text, image, image, {"type": "text", "text": "!"}])]

    def test_a_thought_that_is_closed_is_followed_by_another(self) -> None:
        def thought(text: str, **more: Any) -> JsonObject:
            return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **more}

        answer = read(ROLE, {"content": [thought("a", closed=True)]}, {"content": [thought("b")]})
        assert blocks(answer) == [told([thought("a", closed=True), thought("b")])]

    def test_sound_is_joined(self) -> None:
        answer = read(
            told(None, audio={"id": "audio_1", "transcript": "Hel"}),
            {"audio": {"data": "AAAA", "transcript": "lo"}},
            {"audio": {"data": "BBBB", "expires_at": 9}},
        )
        audio = {"id": "audio_1", "transcript": "Hello", "data": "AAAABBBB", "expires_at": 9}
        assert blocks(answer) == [told(None, audio=audio)]


class TestReasoning:
    @pytest.mark.parametrize("member", ["reasoning_content", "reasoning"])
    def test_what_was_thought_is_a_block_of_its_own(self, member: str) -> None:
        answer = read({**ROLE, member: None}, {member: "Let "}, {member: "me"}, {"content": "4"})
        assert blocks(answer) == [{member: "Let me"}, told("4")]

    def test_a_member_that_says_nothing_stays_in_the_message(self) -> None:
        answer = read(told("4", reasoning=None, reasoning_details=[]))
        assert blocks(answer) == [told("4", reasoning=None, reasoning_details=[])]

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
        answer = read(told("a", annotations=cited[:1]), {"annotations": cited[1:]})
        assert blocks(answer) == [told("a", annotations=cited)]

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
        assert blocks(read(told("", links=twins))) == [told("", links=twins)]
