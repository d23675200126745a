"""What a process gives back: results, signals, and what else was said of them."""

from typing import Any

import pytest

from onrecord.adapters.conversation.ingest import EngineInput, inputs_of
from onrecord.domain.errors import InvalidContent


def test_entries_keep_their_order_and_their_contents() -> None:
    collection = [
        {"id": "call_2", "name": "Track", "content": {"place": ["depot"]}},
        {"id": "call_1", "name": "Today", "content": "2026-01-01"},
    ]
    assert inputs_of(collection) == (
        EngineInput("call_2", "Track", {"place": ["depot"]}),
        EngineInput("call_1", "Today", "2026-01-01"),
    )


@pytest.mark.parametrize("signal", [{"id": None, "content": "Rain"}, {"content": "Rain"}])
def test_without_an_id_it_is_a_signal(signal: dict[str, Any]) -> None:
    (given,) = inputs_of([signal])
    assert given.is_signal
    assert given == EngineInput(None, None, "Rain")


def test_a_result_may_have_no_content_and_falsy_ones_stay_what_they_are() -> None:
    contents: list[object] = [None, "", 0, False, [], {}]
    given = inputs_of([{"id": "1", "content": content} for content in contents])
    assert [each.content for each in given] == contents
    assert inputs_of([{"id": "1"}])[0].content is None


def test_members_that_are_unknown_are_properties() -> None:
    (given,) = inputs_of([{"id": "1", "name": "A", "completedAt": "now", "elementId": "A"}])
    assert given.properties == {"completedAt": "now", "elementId": "A"}


def test_explicit_properties_win_over_unknown_members() -> None:
    entry = {"id": "1", "a": 1, "b": 1, "properties": {"b": 2, "content": "kept"}}
    (given,) = inputs_of([entry])
    assert given.properties == {"a": 1, "b": 2, "content": "kept"}
    assert given.content is None
    assert inputs_of([{"id": "1", "properties": None}])[0].properties == {}


@pytest.mark.parametrize(
    ("interrupted", "is_interrupted"), [(True, True), (False, False), ("true", False), (1, False)]
)
def test_only_true_says_that_a_call_was_cancelled(
    interrupted: object, is_interrupted: bool
) -> None:
    for entry in ({"interrupted": interrupted}, {"properties": {"interrupted": interrupted}}):
        (given,) = inputs_of([{"id": "1", **entry}])
        assert given.is_interrupted is is_interrupted


def test_nothing_came_back_is_nothing() -> None:
    assert inputs_of([]) == ()


REFUSED: list[tuple[object, str]] = [
    (None, "inputs are a list, not NoneType: write inputs=[...]"),
    ({"id": "1"}, "inputs are a list, not dict: write inputs=[...]"),
    ("[]", "inputs are a list, not str: write inputs=[...]"),
    (
        [{}, "text"],
        'entry 1 of the inputs is a mapping such as {"id": ..., "name": ..., "content": ...}, not str',
    ),
    ([{"id": 1}], "the id of entry 0 of the inputs is a text (str), not int"),
    ([{"name": []}], "the name of entry 0 of the inputs is a text (str), not list"),
    (
        [{"properties": "x"}],
        "the properties of entry 0 of the inputs are a mapping, not str",
    ),
]


def test_what_was_read_is_read_again_as_it_is() -> None:
    read = inputs_of([{"id": "1", "name": "A", "content": [1], "elementId": "A"}])
    assert inputs_of(read) == read


@pytest.mark.parametrize(("collection", "why"), REFUSED)
def test_what_is_no_collection_of_results_is_said(collection: object, why: str) -> None:
    with pytest.raises(InvalidContent) as caught:
        inputs_of(collection)
    assert str(caught.value) == why
