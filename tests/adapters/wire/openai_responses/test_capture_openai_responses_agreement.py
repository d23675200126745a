"""Pieces of an item are dropped only where they say what the item says: else the bytes are kept."""

from typing import Any

import pytest

from tests.adapters.wire.openai_responses.openai_responses_streams import (
    added,
    answered,
    around,
    done,
    odd,
    told,
    values,
)
from tests.openai_responses_wire import JsonObject, call, item_events, message, reasoning, text

DISAGREES = ["an item that is not what was told of it in pieces"]
URL = {"type": "url_citation", "url": "https://example.com", "title": None}
PRINTED: JsonObject = {
    "id": "sho_1",
    "type": "shell_call_output",
    "call_id": "call_1",
    "output": [{"stdout": "found", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
}
SHELL: JsonObject = {
    "id": "sh_1",
    "type": "shell_call",
    "call_id": "call_1",
    "action": {"commands": ["ls -l", "pwd"]},
}
PATCH: JsonObject = {
    "id": "apc_1",
    "type": "apply_patch_call",
    "call_id": "call_1",
    "operation": {"type": "create_file", "path": "a", "diff": "+one\n"},
}
CITED: JsonObject = {**message(), "content": [text("Hello.", annotations=[URL])]}
ITEMS = [message("Hello.", "There."), CITED, reasoning(), call(), SHELL, PRINTED, PATCH]


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item["type"])
def test_pieces_that_make_the_item_are_dropped(item: JsonObject) -> None:
    answer = answered(around(*item_events(0, item, 2), output=[item]))
    assert (values(answer), odd(answer), answer.needs_raw) == ([item], [], False)


def changed(event: JsonObject) -> list[JsonObject]:
    """The event with each of its members that says something said otherwise."""
    said = [name for name in ("delta", "text", "arguments", "command", "diff", "output", "part")]
    others: list[Any] = ["other", None, 5, {"stdout": "other"}, ["other"]]
    return [
        {**event, name: other}
        for name in [*said, "annotation"]
        if event.get(name)
        for other in others
    ]


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item["type"])
def test_a_piece_that_says_otherwise_is_kept(item: JsonObject) -> None:
    first, *inner, last = item_events(0, item, 2)
    for place, event in enumerate(inner):
        if event["type"].endswith("part.added"):
            continue  # What begins may be replaced.
        for other in changed(event):
            several = [*inner[:place], other, *inner[place + 1 :]]
            answer = answered(around(first, *several, last, output=[item]))
            assert (values(answer), odd(answer)) == ([item], DISAGREES), other
            assert answer.needs_raw


@pytest.mark.parametrize(
    "place", [{}, {"content_index": 7}, {"content_index": -1}, {"content_index": {}}]
)
def test_a_piece_with_no_place_in_the_item_is_kept(place: JsonObject) -> None:
    stray = told(0, "output_text.delta", delta="lost", **place)
    answer = answered(around(added(0, message()), stray, done(0, message()), output=[]))
    assert (values(answer), odd(answer)) == ([message()], DISAGREES)


@pytest.mark.parametrize(("kept", "is_odd"), [(["a", "b"], False), (["a"], True), (None, True)])
def test_log_probabilities_that_only_pieces_tell_are_kept(kept: object, is_odd: bool) -> None:
    item = {**message(), "content": [text("Hi", logprobs=kept)]}
    pieces = [
        told(0, "output_text.delta", content_index=0, delta=piece, logprobs=[piece])
        for piece in ("H", "i")
    ]
    answer = answered(around(added(0, message()), *pieces, done(0, item), output=[item]))
    assert odd(answer) == (DISAGREES if is_odd else [])


def test_pieces_are_held_against_the_final_response_where_the_item_was_never_done() -> None:
    first, *inner, _ = item_events(0, call())
    answer = answered(around(first, *inner, output=[call()]))
    assert (values(answer), odd(answer)) == ([call()], [])
    answer = answered(around(first, *inner, output=[call(arguments="{}")]))
    assert (values(answer), odd(answer)) == ([call(arguments="{}")], DISAGREES)


def test_what_is_told_of_an_item_that_is_done_is_kept() -> None:
    late = told(0, "function_call_arguments.delta", delta="late")
    answer = answered(around(*item_events(0, call()), late, output=[call()]))
    assert odd(answer) == [
        "an event of unknown type or item: response.function_call_arguments.delta"
    ]
