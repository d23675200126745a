"""Single items in a request to the Responses API: O5, O10, O11, O12, O14, O15, notes and spelling."""

from __future__ import annotations

import pytest

from onrecord.domain.content import Native
from onrecord.domain.errors import NothingToSend
from onrecord.domain.events import InstructionsSet, MessageRecorded, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.apis.openai_responses.read import NAME
from onrecord.projections.history.windows import Window
from tests.projections.apis.openai_responses.responses_happenings import (
    answers,
    asks,
    breaks_off,
    call,
    for_,
    gives,
    items,
    kinds,
    message,
    native,
    output,
    reasoning,
    rendered,
)
from tests.projections.happenings import Story, rules

LEADING = {"role": "developer", "content": [{"type": "input_text", "text": "Be kind."}]}


def test_what_is_said_at_once_is_one_message() -> None:
    picture: JsonObject = {"type": "input_image", "image_url": "https://example.com/a.png"}
    story = Story()
    story.user("one")
    story.user("two", native(picture))
    story.note("Be brief.")
    assert items(story) == [
        {"role": "user", "content": "one"},
        {"role": "user", "content": [{"type": "input_text", "text": "two"}, picture]},
        {"role": "system", "content": "Be brief."},
    ]


def test_an_item_of_the_callers_goes_back_as_it_came() -> None:
    item: JsonObject = {"type": "message", "role": "user", "status": "completed", "content": []}
    later: JsonObject = {"role": "developer", "content": "From now on in French."}
    tools: JsonObject = {"type": "additional_tools", "role": "developer", "tools": []}
    story = Story()
    story.user(native(item))
    story.happen(MessageRecorded(role="system", content=(native(later),)))
    story.happen(MessageRecorded(role="system", content=(native(tools),)))
    assert items(story) == [item, later, tools]


def test_parts_and_items_of_one_event_keep_their_order() -> None:
    item: JsonObject = {"type": "something_new", "id": "new_1"}
    story = Story()
    story.user("one", native(item), "two")
    assert items(story) == [
        {"role": "user", "content": "one"},
        item,
        {"role": "user", "content": "two"},
    ]


def test_instructions_go_back_as_they_came() -> None:
    story = Story()
    content = native({"instructions": "Help.", "input": [LEADING]})
    story.happen(InstructionsSet(content=content))
    story.user("hi")
    request = rendered(story)
    assert request["instructions"] == "Help."
    assert request["input"][0] == LEADING
    story.instruct("Be brief.")
    assert rendered(story)["instructions"] == "Be brief."
    assert len(items(story)) == 1


def test_instructions_and_tools_of_others_are_told() -> None:
    story = Story()
    blocks = {"system": [{"type": "text", "text": "Help."}]}
    story.happen(InstructionsSet(content=Native(api="anthropic-messages", value=blocks)))
    schema: JsonObject = {"type": "object", "properties": {}}
    theirs = {"name": "find", "description": "Finds.", "input_schema": schema}
    ours: JsonObject = {"type": "web_search"}
    hosted: JsonObject = {"type": "web_search_20250305", "name": "web_search"}
    story.happen(
        ToolsDeclared(
            tools=(
                ToolDefinition(name="look up", input_schema=schema),
                Native(api="anthropic-messages", value=theirs),
                Native(api="anthropic-messages", value=hosted),
                native(ours),
            )
        )
    )
    story.user("hi")
    request = rendered(story)
    assert request["instructions"] == "Help."
    assert request["tools"] == [
        {"type": "function", "name": "look_up_a973a279", "parameters": schema, "strict": False},
        {
            "type": "function",
            "name": "find",
            "description": "Finds.",
            "parameters": schema,
            "strict": False,
        },
        ours,
    ]
    assert rules(request) == {"foreign", "O7"}


@pytest.mark.parametrize("item_id", ["copilot+rotates/these==", "m" * 65, "fc_1", ""])
def test_an_id_that_the_service_did_not_give_goes_not(item_id: str) -> None:
    """ "Invalid 'input[371].id': '...'. Expected an ID that begins with 'msg'."."""
    story = Story()
    story.user("hi")
    answers(story, message("Hm.", id=item_id, phase="commentary"))
    request = rendered(story)
    said = {"role": "assistant", "content": "Hm.", "phase": "commentary"}
    assert request["input"][1:] == [said]
    assert rules(request) == {"O5"}


def test_what_the_sdk_added_is_not_sent() -> None:
    """ "Unknown parameter: 'input[1].content[0].parsed'."."""
    text: JsonObject = {"type": "output_text", "text": "{}", "annotations": []}
    story = Story()
    story.user("hi")
    parsed = message("", content=[{**text, "parsed": {"a": 1}}])
    answers(story, parsed, call("call_1", 1, parsed_arguments={"q": 1}))
    gives(story, output())
    request = rendered(story)
    assert request["input"][1:3] == [message("", content=[text]), call()]
    assert rules(request) == {"O12"}


def compaction(number: int = 1) -> JsonObject:
    return {"id": f"cmp_{number}", "type": "compaction", "encrypted_content": "gAAA"}


def test_a_request_begins_with_the_last_compaction() -> None:
    story = Story()
    story.user("hi")
    answers(story, compaction(1), message("one", 1))
    story.user("go on")
    answers(story, reasoning(), compaction(2), message("two", 2))
    story.user("go on")
    request = rendered(story)
    assert request["input"] == [
        compaction(2),
        message("two", 2),
        {"role": "user", "content": "go on"},
    ]
    assert rules(request) == {"O10"}


def test_what_an_answer_said_before_its_compaction_goes_back_with_it() -> None:
    story = Story()
    story.user("hi")
    answers(story, message("zero", 0))
    story.user("go on")
    answers(story, reasoning(), message("one", 1), compaction())
    story.user("go on")
    request = rendered(story)
    assert request["input"] == [
        reasoning(),
        message("one", 1),
        compaction(),
        {"role": "user", "content": "go on"},
    ]
    assert rules(request) == {"O10"}


def compacted(story: Story) -> Story:
    kept = message("", 9, role="user", content=[{"type": "input_text", "text": "hi"}])
    story.user("hi")
    asks(story, account="ours")
    answers(story, message("hello", 1))
    asks(story, account="ours")
    answers(story, kept, compaction(), object="response.compaction")
    story.user("go on")
    return story


def test_what_a_compaction_was_returned_with_stays() -> None:
    request = rendered(compacted(Story()))
    assert kinds(request["input"]) == ["user", "compaction", "user"]
    assert request["input"][0]["id"] == "msg_9"


def test_a_compaction_for_another_account_is_left_out_and_all_goes() -> None:
    request = rendered(compacted(Story()), for_(account="theirs"))
    assert [item["content"] for item in request["input"]] == ["hi", "hello", "go on"]


def test_an_output_whose_call_a_compaction_stands_for_goes_as_words() -> None:
    story = Story()
    story.user("hi")
    answers(story, call(), compaction())
    gives(story, output())
    request = rendered(story)
    assert kinds(request["input"]) == ["compaction", "user"]
    assert rules(request) == {"O10", "O2"}


def test_a_reference_goes_unless_what_it_names_stands_there() -> None:
    references: list[JsonObject] = [
        {"type": "item_reference", "id": item_id} for item_id in ("msg_1", "fc_9", "rs_held")
    ]
    story = Story()
    story.user("hi")
    answers(story, message("Hm.", 1))
    for reference in references:
        story.user(native(reference))
    request = rendered(story)
    assert request["input"][2:] == [references[2]]
    deeds = [(note.deed, note.rule) for note in request.report]
    assert deeds == [("left out", "O11"), ("left out", "O11"), ("noted", "O11")]


def test_a_file_that_the_service_holds_is_noted() -> None:
    story = Story()
    story.user(native({"type": "input_file", "file_id": "file-1"}))
    request = rendered(story)
    assert request["input"][0]["content"] == [{"type": "input_file", "file_id": "file-1"}]
    assert rules(request) == {"O14"}


def test_blank_text_is_left_out_unless_the_api_made_it() -> None:
    story = Story()
    story.user(" ", "hi")
    answers(story, message("", 1))
    request = rendered(story)
    assert request["input"] == [{"role": "user", "content": "hi"}, message("", 1)]
    assert rules(request) == {"O15"}


def test_nothing_but_blank_text_is_nothing_to_send() -> None:
    story = Story()
    story.user("\n")
    with pytest.raises(NothingToSend):
        rendered(story)


def test_an_item_of_a_kind_not_yet_known_goes_back_as_it_came() -> None:
    new: JsonObject = {"id": "new_1", "type": "something_new", "held": None}
    story = Story()
    story.user("hi")
    answers(story, new, message("Hm."))
    assert items(story)[1:] == [new, message("Hm.")]


def test_a_call_that_broke_off_is_none() -> None:
    story = Story()
    story.user("hi")
    breaks_off(story, message("one"), begun=({**call(), "arguments": "{"},))
    assert kinds(items(story)) == ["user", "assistant"]


def test_cache_marks_are_the_services_own() -> None:
    story = Story()
    story.user("hi")
    assert rules(rendered(story, for_(cache=True))) == {"O16"}


def test_a_window_is_told() -> None:
    story = Story()
    story.user("hi")
    events = [(version + 5, event) for version, event in story.events]
    story.events = events
    assert rules(rendered(story, for_(window=Window()))) == {"window"}


def test_what_is_rendered_says_which_api_it_is_for() -> None:
    story = Story()
    story.user("hi")
    request = rendered(story)
    assert (request.api, list(request)) == (NAME, ["input"])
