"""Deltas of tool calls: by index, without one, repeated, at once."""

import pytest

from tests.adapters.wire.openai_chat.openai_chat_streams import (
    ROLE,
    blocks,
    calling,
    odd,
    read,
    told,
)
from tests.openai_chat_wire import call


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
            told(""),
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

    def test_whole_calls_without_ids_are_as_many_and_await_results(self) -> None:
        nameless = {"function": {"name": "look", "arguments": "{}"}}
        answer = read({"tool_calls": [nameless]}, {"tool_calls": [nameless, nameless]})
        assert blocks(answer)[1:] == [nameless, nameless, nameless]
        assert answer.awaits_results
        assert len({block.call for block in answer.blocks[1:]}) == 3

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
            told(None, function_call={"name": "look", "arguments": ""}),
            {"function_call": {"arguments": "{}"}},
            stop="function_call",
        )
        old = {"function_call": {"name": "look", "arguments": "{}"}}
        assert blocks(answer) == [told(None), old]

    def test_a_blank_call_of_the_old_spelling_is_none(self) -> None:
        blank = {"name": "", "arguments": ""}
        assert blocks(read(told("a", function_call=blank))) == [told("a", function_call=blank)]
