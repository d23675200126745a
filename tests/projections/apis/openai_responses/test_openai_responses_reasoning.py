"""Reasoning in a request to the Responses API: O3, O4, O5 and `thinking`."""

from __future__ import annotations

from uuid import UUID

import pytest

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import Options
from tests.projections.apis.openai_responses.responses_happenings import (
    answers,
    asks,
    breaks_off,
    call,
    event_of,
    for_,
    gives,
    items,
    kinds,
    message,
    output,
    reasoning,
    rendered,
    search,
)
from tests.projections.happenings import Story, rules


def test_a_response_goes_back_as_it_came() -> None:
    said = [reasoning(1), search(1), reasoning(2), message("It rains.", phase="final_answer")]
    story = Story()
    story.user("hi")
    answers(story, *said)
    request = rendered(story)
    assert request["input"] == [{"role": "user", "content": "hi"}, *said]
    assert len(request.report) == 0


def test_outputs_come_after_all_that_a_response_says() -> None:
    """A model may call, then speak: results still come after the whole output."""
    story = Story()
    story.user("hi")
    said = [reasoning(), call("call_1", 1), call("call_2", 2), message("A moment.")]
    answers(story, *said)
    gives(story, output("call_2", "two"))
    story.user("hurry")
    gives(story, output("call_1", "one"))
    assert items(story)[1:] == [
        *said,
        output("call_1", "one"),
        output("call_2", "two"),
        {"role": "user", "content": "hurry"},
    ]


def test_reasoning_that_nothing_came_of_is_left_out() -> None:
    """ "Item 'rs_...' of type 'reasoning' was provided without its required following item."."""
    story = Story()
    story.user("hi")
    answers(story, reasoning(1), message("Hm."), reasoning(2))
    request = rendered(story)
    assert request["input"][1:] == [reasoning(1), message("Hm.")]
    assert [(note.deed, note.rule) for note in request.report] == [("left out", "O3")]


def test_what_broke_off_amid_its_reasoning_is_told_in_words() -> None:
    story = Story()
    story.user("hi")
    breaks_off(story, reasoning(1), search(1), reasoning(2))
    story.user("go on")
    request = rendered(story)
    assert request["input"] == [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": "[web_search was used.]\ntype: search\nquery: query 1",
        },
        {"role": "user", "content": "go on"},
    ]
    assert rules(request) == {"O3"}


def test_a_message_that_broke_off_goes_as_text_without_its_reasoning() -> None:
    story = Story()
    story.user("hi")
    begun = message("It ra", status="in_progress")
    breaks_off(story, reasoning(), begun=(begun,))
    request = rendered(story)
    assert request["input"][1:] == [{"role": "assistant", "content": "It ra"}]
    assert {(note.deed, note.rule) for note in request.report} == {
        ("left out", "O3"),
        ("repaired", "O3"),
    }


def test_what_came_of_redacted_reasoning_goes_without_ids() -> None:
    """ "Item 'fc_...' of type 'function_call' was provided without its required 'reasoning' item"."""
    story = Story()
    story.user("hi")
    asks(story)
    answers(story, reasoning(), message("Hm.", phase="commentary"), call())
    gives(story, output())
    story.redact(3)
    bare = {key: held for key, held in call().items() if key != "id"}
    assert items(story)[1:] == [
        {"role": "assistant", "content": "Hm.", "phase": "commentary"},
        bare,
        output(),
    ]


def test_reasoning_whose_follower_is_redacted_is_left_out() -> None:
    story = Story()
    story.user("hi")
    answers(story, reasoning(), message("Hm."), call())
    gives(story, output())
    story.redact(3)
    assert kinds(items(story)) == ["user", "function_call", "function_call_output"]
    assert all("id" not in item for item in items(story))


def test_a_response_that_the_user_interrupts_goes_without_ids() -> None:
    """What was said in between was imported so: nothing that is recorded comes between."""
    story = Story()
    story.happen(event_of(UUID(int=7), 0, reasoning()))
    story.user("wait")
    story.happen(event_of(UUID(int=7), 1, message("Hm.")))
    assert items(story) == [
        {"role": "user", "content": "wait"},
        {"role": "assistant", "content": "Hm."},
    ]


STORED = [
    (True, False, True),
    (True, True, True),
    (False, True, True),
    (None, True, True),
    (False, False, False),
    (None, False, False),
]


@pytest.mark.parametrize(("store", "encrypted", "goes"), STORED)
def test_reasoning_goes_if_it_was_stored_or_is_encrypted(
    store: bool | None, encrypted: bool, goes: bool
) -> None:
    """ "Item with id 'rs_...' not found. Items are not persisted when `store` is set to false."."""
    story = Story()
    story.user("hi")
    said = [reasoning(encrypted=encrypted), call()]
    answers(story, *said, store=store)
    gives(story, output())
    request = rendered(story)
    bare = {key: held for key, held in call().items() if key != "id"}
    assert request["input"][1:-1] == (said if goes else [bare])
    assert rules(request) == (set() if goes else {"O4"})


def test_modes_of_storing_may_change_from_turn_to_turn() -> None:
    story = Story()
    story.user("hi")
    answers(story, reasoning(1, encrypted=False), message("one", 1), store=True)
    story.user("go on")
    answers(story, reasoning(2, encrypted=False), message("two", 2), store=False)
    story.user("go on")
    answers(story, reasoning(3), message("three", 3), store=False)
    ids = [item.get("id") for item in items(story)]
    assert ids == [None, "rs_1", "msg_1", None, None, None, "rs_3", "msg_3"]


def test_a_response_that_broke_off_is_not_stored() -> None:
    story = Story()
    story.user("hi")
    breaks_off(story, reasoning(1, encrypted=False), message("one"))
    assert items(story)[1:] == [{"role": "assistant", "content": "one"}]


OTHERS: list[tuple[Options, set[str]]] = [
    (for_(model="gpt-other"), {"O4"}),
    (for_(account="theirs"), {"O4"}),
    (for_(thinking="drop"), {"thinking"}),
]


@pytest.mark.parametrize(("options", "wanted"), OTHERS)
def test_reasoning_of_others_is_left_out_with_the_ids_of_what_came_of_it(
    options: Options, wanted: set[str]
) -> None:
    story = Story()
    story.user("hi")
    asks(story, account="ours")
    answers(story, reasoning(), search(), message("It rains."), call())
    gives(story, output())
    request = rendered(story, options)
    assert kinds(request["input"]) == [
        *("user", "assistant", "assistant", "function_call", "function_call_output")
    ]
    assert all("id" not in item for item in request["input"])
    assert rules(request) == wanted


@pytest.mark.parametrize("options", [for_(model="gpt-5"), for_(account="ours")])
def test_reasoning_of_the_same_model_and_account_goes(options: Options) -> None:
    story = Story()
    story.user("hi")
    asks(story, account="ours")
    answers(story, reasoning(), message("It rains."))
    request = rendered(story, options)
    assert kinds(request["input"]) == ["user", "reasoning", "assistant"]
    assert len(request.report) == 0


def test_another_models_words_go_as_they_came() -> None:
    story = Story()
    story.user("hi")
    answers(story, message("It rains."))
    assert items(story, for_(model="gpt-other"))[1:] == [message("It rains.")]


def test_for_another_account_no_item_goes_by_its_id() -> None:
    story = Story()
    story.user("hi")
    asks(story, account="ours")
    answers(story, search(), message("It rains."))
    request = rendered(story, for_(account="theirs"))
    assert kinds(request["input"]) == ["user", "assistant", "assistant"]
    assert all("id" not in item for item in request["input"])


def test_an_image_is_what_reasoning_may_end_with() -> None:
    image = {"id": "ig_1", "type": "image_generation_call", "status": "completed", "result": "AA"}
    story = Story()
    story.user("a cat")
    answers(story, reasoning(), image)
    assert items(story)[1:] == [reasoning(), image]


def test_an_id_stands_once() -> None:
    """ "Duplicate item found with id msg_.... Remove duplicate items from your input"."""
    story = Story()
    for said in ("one", "two"):
        story.user("hi")
        answers(story, reasoning(1), message(said, 1))
    request = rendered(story)
    assert [item.get("id") for item in request["input"]] == [None, "rs_1", "msg_1", None, None]
    assert rules(request) == {"O5"}


def test_a_refusal_goes_back_as_it_came() -> None:
    refusal = {"type": "refusal", "refusal": "I cannot help with that."}
    said = message("", content=[refusal])
    story = Story()
    story.user("hi")
    answers(story, said)
    assert items(story)[1:] == [said]


def test_reasoning_whose_message_came_without_id_is_left_out() -> None:
    """Recorded: a message sent again without its id was refused, as one that is missing."""
    story = Story()
    told: JsonObject = {"role": "assistant", "content": "Hm.", "type": "message"}
    answers(story, reasoning(), told)
    request = rendered(story)
    assert request["input"] == [told]
    assert rules(request) == {"O3"}


def in_clear() -> JsonObject:
    content = [{"type": "reasoning_text", "text": "hm"}]
    return {"id": "6f8b-1", "type": "reasoning", "summary": [], "content": content}


def test_a_compatible_servers_reasoning_goes_back_as_it_came_with_its_ids() -> None:
    """DeepSeek stores nothing, gives ids of its own kind, and wants its reasoning back."""
    said = [in_clear(), {**call(), "id": "6f8b-2"}]
    story = Story()
    story.user("hi")
    answers(story, *said, store=False, model="deepseek")
    gives(story, output())
    assert items(story)[1:3] == said
    assert items(story, for_(model="deepseek"))[1:3] == said
    elsewhere = items(story, for_(model="gpt-5"))
    assert kinds(elsewhere) == ["user", "function_call", "function_call_output"]
    assert all("id" not in item for item in elsewhere)


def test_reasoning_stays_behind_an_answer_that_broke_off() -> None:
    """What is left out of one response is nothing to the next, which may follow at once."""
    story = Story()
    story.user("hi")
    asks(story)
    breaks_off(story, begun=(reasoning(1),))
    answers(story, reasoning(2), message("Hm.", 2))
    request = rendered(story)
    assert request["input"][1:] == [reasoning(2), message("Hm.", 2)]
    assert rules(request) == {"unfinished"}
