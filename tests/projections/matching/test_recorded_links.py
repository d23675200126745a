"""What items say is linked to what was recorded off the wire by ids, and between these in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TypeAlias
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain import jsontext
from onrecord.domain.content import Document, Native, Text, ToolCall, ToolResult
from onrecord.domain.events import (
    DocumentExtracted,
    Event,
    MessageRecorded,
    RequestSent,
    ResponseCompleted,
    ToolCallRecorded,
    ToolResultRecorded,
)
from onrecord.domain.request_template import Template
from onrecord.projections.matching.recorded_links import (
    ItemTurnEvent,
    RecordedBranch,
    linked_versions,
    nearest_pairs,
    recorded_links,
)

RESPONSES = [UUID(int=number) for number in range(1, 9)]
TEMPLATE = Template(spans=(), size=0, sha256="")


def prompt(text: str) -> Event:
    return MessageRecorded(role="user", content=(Text(text=text),))


def answer(response: UUID, text: str) -> Event:
    content = Native(api="openai-chat", value={"role": "assistant", "content": text})
    return MessageRecorded(role="assistant", response=response, index=0, content=(content,))


def neutral(call_id: str, name: str, arguments: object) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


def of_chat(call_id: str, name: str, arguments: object) -> Native:
    function = {"name": name, "arguments": jsontext.write(arguments).decode()}
    value = {"id": call_id, "type": "function", "function": function}
    return Native(api="openai-chat", value=value)


def of_anthropic(call_id: str, name: str, arguments: object) -> Native:
    value = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
    return Native(api="anthropic-messages", value=value)


Spelling: TypeAlias = Callable[[str, str, object], ToolCall | Native]
SPELLINGS: list[Spelling] = [neutral, of_chat, of_anthropic]


def call(
    response: UUID,
    call_id: str,
    arguments: object = None,
    name: str = "track",
    spelled: Spelling = neutral,
) -> Event:
    made = spelled(call_id, name, arguments or {})
    return ToolCallRecorded(response=response, index=1, call_id=call_id, name=name, content=made)


def result(call_id: str, text: str) -> Event:
    content = ToolResult(call_id=call_id, content=(Text(text=text),))
    return ToolResultRecorded(call_id=call_id, content=content)


def sent() -> Event:
    return RequestSent(api="openai-chat", endpoint="/", template=TEMPLATE)


def ended(response: UUID, provider_id: str) -> Event:
    return ResponseCompleted(
        response=response, api="openai-chat", provider_id=provider_id, envelope={}
    )


def said(*events: Event | tuple[Event, str]) -> list[ItemTurnEvent]:
    """Messages of one event each, some with the id of an answer; their versions begin at 100."""
    numbers = count()
    pairs = [each if isinstance(each, tuple) else (each, "") for each in events]
    return [
        ItemTurnEvent(100 + number, event, number, (answer_id,) if answer_id else ())
        for (event, answer_id), number in zip(pairs, numbers, strict=False)
    ]


def links(items: Sequence[ItemTurnEvent], *recorded: Event) -> Mapping[int, int]:
    return recorded_links(items, RecordedBranch(list(enumerate(recorded, 1))))


ONE, TWO, THREE, FOUR = RESPONSES[:4]


def test_an_answer_is_linked_to_its_end_by_its_id_whatever_it_says() -> None:
    items = said(prompt("a"), (answer(ONE, "shortened"), "r-1"))
    recorded = prompt("a"), sent(), answer(TWO, "in full"), ended(TWO, "r-1")
    assert links(items, *recorded) == {0: 1, 1: 4}


def signed(response: UUID, signature: str, text: str) -> Event:
    content = Native(api="gemini", value={"text": text, "thoughtSignature": signature})
    return MessageRecorded(role="assistant", response=response, index=0, content=(content,))


def test_an_answer_without_an_id_is_linked_by_its_signature_alone() -> None:
    items = said(prompt("a"), signed(ONE, "c2ln", "shortened"))
    recorded = prompt("a"), sent(), signed(TWO, "c2ln", "in full"), ended(TWO, "r-1")
    assert links(items, *recorded) == {0: 1, 1: 4}
    other = prompt("a"), sent(), signed(TWO, "b3Ro", "shortened"), ended(TWO, "r-1")
    assert links(items, *other) == {}


def test_an_id_that_two_answers_have_links_neither() -> None:
    items = said(
        prompt("a"), (answer(ONE, "to a"), "r-1"), prompt("b"), (answer(TWO, "to b"), "r-1")
    )
    recorded = (prompt("b"), sent(), answer(ONE, "to b"), ended(ONE, "r-1"))
    assert links(items, *recorded) == {}


def test_messages_of_one_answer_are_linked_by_the_id_that_all_of_them_name() -> None:
    items = said(
        prompt("a"), (answer(ONE, "a thought"), "r-1"), (answer(TWO, "to a"), "r-1"), prompt("b")
    )
    recorded = (prompt("a"), sent(), answer(ONE, "to a"), ended(ONE, "r-1"))
    assert links(items, *recorded) == {0: 1, 1: 4, 2: 4}


def test_nothing_is_linked_to_an_answer_of_another_id() -> None:
    items = said(prompt("a"), (answer(ONE, "the same"), "r-1"))
    assert links(items, prompt("a"), sent(), answer(TWO, "the same"), ended(TWO, "r-2")) == {}


def test_a_prompt_is_linked_where_the_answer_behind_it_is() -> None:
    items = said(
        prompt("yes"), (answer(ONE, "ok"), "r-0"), prompt("yes"), (answer(TWO, "b"), "r-1")
    )
    recorded = prompt("yes"), sent(), answer(THREE, "b"), ended(THREE, "r-1")
    assert links(items, *recorded) == {2: 1, 3: 4}


def test_a_prompt_that_nobody_sent_is_not_linked() -> None:
    items = said((answer(ONE, "a"), "r-1"), prompt("yes"))
    recorded = sent(), answer(TWO, "a"), ended(TWO, "r-1"), prompt("yes")
    assert links(items, *recorded) == {0: 3}
    assert links(items, *recorded, sent()) == {0: 3, 1: 4}


def test_what_is_not_answered_is_linked_only_where_a_request_had_all_answers_in_it() -> None:
    items = said(prompt("yes"), (answer(ONE, "ok"), "r-0"))
    assert links(items, prompt("yes"), sent()) == {}
    assert links(items, prompt("yes"), answer(TWO, "ok"), prompt("go on"), sent()) == {0: 1, 1: 2}


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_a_call_and_its_result_are_linked_by_the_id_of_the_call(spelled: Spelling) -> None:
    items = said(call(ONE, "c-1", spelled=spelled), result("c-1", "told in short"))
    made = call(TWO, "c-1", spelled=spelled), ended(TWO, "r-1")
    assert links(items, sent(), *made, result("c-1", "in full"), sent()) == {0: 3, 1: 4}


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_the_id_of_a_call_that_comes_again_links_nothing(spelled: Spelling) -> None:
    one, two = call(ONE, "0", spelled=spelled), call(TWO, "0", spelled=spelled)
    items = said(one, result("0", "x"), two, result("0", "y"))
    recorded = call(THREE, "0", spelled=spelled), ended(THREE, "r-1"), result("0", "z")
    assert links(items, sent(), *recorded) == {}


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_a_call_that_asks_something_else_under_the_same_id_is_another(spelled: Spelling) -> None:
    item = said(call(ONE, "0", {"n": 1}, spelled=spelled), result("0", "x"))
    for other in (call(TWO, "0", {"n": 2}, spelled=spelled), call(TWO, "0", {"n": 1}, "delete")):
        assert links(item, sent(), other, ended(TWO, "r-1"), result("0", "z")) == {}


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_two_calls_of_one_id_are_not_the_one_that_was_recorded(spelled: Spelling) -> None:
    track = call(ONE, "0", {"n": 1}, spelled=spelled)
    items = said(track, call(TWO, "0", {"n": 2}, "delete", spelled))
    made = call(THREE, "0", {"n": 1}, spelled=spelled), ended(THREE, "r-1")
    assert links(items, sent(), *made) == {}


def picture() -> Event:
    document = Document(media_type="image/png", url="https://example.org/nw-1.png")
    return DocumentExtracted(document=document, api="openai-chat")


def test_a_document_is_linked_with_the_event_that_holds_it() -> None:
    items = said(prompt("a"), picture(), (answer(ONE, "x"), "r-1"), picture(), prompt("b"))
    items[1], items[3] = (items[n]._replace(message=n - 1) for n in (1, 3))
    recorded = prompt("a"), picture(), sent(), answer(TWO, "x"), ended(TWO, "r-1")
    assert links(items, *recorded) == {0: 1, 1: 1, 2: 5, 3: 5}
    assert links([*items, *items[1:2]], *recorded) == {0: 1, 1: 1, 2: 5, 3: 5}


def test_an_item_is_linked_where_all_that_it_says_is() -> None:
    one, two, three = said(prompt("a"), (answer(ONE, "x"), "r-1"), prompt("b"))
    items = [one, two._replace(version=one.version), three]
    recorded = RecordedBranch([*enumerate((sent(), answer(TWO, "x"), ended(TWO, "r-1")), 1)])
    links = recorded_links(items, recorded)
    assert (links, linked_versions(items, links)) == ({1: 3}, {})
    assert linked_versions(items, {0: 1, 1: 3}) == {one.version: 3}
    assert linked_versions(items, {2: 5}) == {three.version: 5}


def test_an_event_that_says_more_than_was_sent_stays() -> None:
    both = MessageRecorded(role="user", content=(Text(text="a"), Text(text="b")))
    items = said(both, (answer(ONE, "x"), "r-1"))
    assert links(items, prompt("a"), sent(), answer(TWO, "x"), ended(TWO, "r-1")) == {1: 4}


def test_answers_in_another_order_are_linked_and_what_is_between_them_is_not() -> None:
    items = said((answer(ONE, "a"), "r-1"), prompt("p"), (answer(TWO, "b"), "r-2"))
    second = sent(), answer(THREE, "b"), ended(THREE, "r-2")
    first = prompt("p"), sent(), answer(FOUR, "a"), ended(FOUR, "r-1")
    assert links(items, *second, *first) == {0: 7, 2: 3}


def test_the_prompt_beside_the_answer_is_linked_before_an_equal_one_that_is_farther() -> None:
    items = said(prompt("p"), prompt("q"), prompt("x"), prompt("q"), (answer(ONE, "a"), "r-1"))
    recorded = prompt("p"), prompt("q"), sent(), answer(TWO, "a"), ended(TWO, "r-1")
    assert links(items, *recorded) == {0: 1, 3: 2, 4: 5}


def test_of_equal_prompts_that_were_sent_the_last_is_linked() -> None:
    items = said(prompt("q"), (answer(ONE, "a"), "r-1"))
    recorded = prompt("q"), prompt("x"), prompt("q"), sent(), answer(TWO, "a"), ended(TWO, "r-1")
    assert links(items, *recorded) == {0: 3, 1: 6}


keys = st.lists(st.sampled_from("abc"), max_size=12)


@given(keys, keys)
def test_each_is_paired_with_the_nearest_before_that_is_the_same(
    own: list[str], recorded: list[str]
) -> None:
    expected: list[tuple[int, int]] = []
    end = len(recorded)
    for place in reversed(range(len(own))):
        same = [at for at in range(end) if recorded[at] == own[place]]
        if same:
            end = same[-1]
            expected.append((place, end))
    assert list(nearest_pairs(own, recorded)) == expected


class CountedKey:
    """A key that counts how often one is looked at."""

    looks = 0

    def __init__(self, text: str) -> None:
        self.text = text

    def __hash__(self) -> int:
        CountedKey.looks += 1
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        CountedKey.looks += 1
        return isinstance(other, CountedKey) and self.text == other.text


@pytest.mark.parametrize("words", ["xy", "x", "xyz"])
def test_pairs_of_many_equal_ones_cost_a_few_looks_at_each(words: str) -> None:
    size = 600
    own = [CountedKey(words[number % len(words)]) for number in range(size)]
    recorded = [CountedKey("xy"[number % 2]) for number in range(size)]
    CountedKey.looks = 0
    assert len(list(nearest_pairs(own, recorded))) >= size // 3
    assert CountedKey.looks <= 2 * (len(own) + len(recorded))


exchanges = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.booleans(), st.booleans()),
    max_size=8,
)


@given(exchanges)
def test_each_exchange_that_both_have_is_linked_to_itself(
    told: list[tuple[str, str, bool, bool]],
) -> None:
    items: list[Event | tuple[Event, str]] = []
    recorded: list[Event] = []
    expected: dict[int, int] = {}
    for number, (asked, gave, is_stored, is_sent) in enumerate(told):
        response, name = RESPONSES[number], f"r-{number}"
        if is_sent:
            recorded += [prompt(asked), sent(), answer(response, gave), ended(response, name)]
        if is_stored:
            if is_sent:
                expected |= {len(items): len(recorded) - 3, len(items) + 1: len(recorded)}
            items += [prompt(asked), (answer(response, gave), name)]
    found = links(said(*items), *recorded)
    answers = {place: version for place, version in expected.items() if place % 2}
    assert {place: version for place, version in found.items() if place % 2} == answers
    if all(is_stored == is_sent for *_, is_stored, is_sent in told):
        assert found == expected
